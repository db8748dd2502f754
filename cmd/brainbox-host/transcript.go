package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"brainbox/bridge"
	"brainbox/bridge/envelope"
	"brainbox/bridge/transcript"
	"brainbox/internal/strictjson"
)

// openTranscripts makes the folder of this session's, where the program cannot reach it.
func (s *service) openTranscripts() (err error) {
	dir := filepath.Join(s.c.State, "transcripts", s.c.Session)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	s.sink, err = transcript.Open(dir, s.redactor, transcript.Options{})
	return err
}

// Write writes the transcript of one call. It is that of [bridge.Transcript].
func (s *service) Write(c bridge.Call) (envelope.Ref, error) {
	return s.sink.Write(transcript.Record{
		Request: c.Request, Result: c.Result, Cancelled: c.Cancelled, Started: c.Started, Took: c.Took,
	})
}

// digest is the SHA-256 of an input, which a record names instead of the input itself.
func digest(v *strictjson.Value) string {
	sum := sha256.Sum256(strictjson.Append(nil, v))
	return hex.EncodeToString(sum[:])
}
