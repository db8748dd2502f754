package hostask

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"brainbox/internal/strictjson"
	"brainbox/internal/version"
)

// Reply says that the host serves, or why it does not.
type Reply struct {
	Error    string // empty: it serves
	Hint     string
	Warnings []string // what is wrong, and does not keep it from serving
}

// Encode writes the reply as one line.
func (r *Reply) Encode() []byte {
	v := strictjson.Object(
		strictjson.Pair("protocol", strictjson.Int(Protocol)), strictjson.Pair("version", strictjson.Text(version.String())),
		strictjson.Pair("error", strictjson.Text(r.Error)), strictjson.Pair("hint", strictjson.Text(r.Hint)),
		strictjson.Pair("warnings", strictjson.Texts(r.Warnings)))
	return strictjson.AppendLine(nil, &v)
}

// DecodeReply reads a reply of this very version.
func DecodeReply(line []byte) (Reply, error) {
	v, err := strictjson.Decode(line, limits())
	if err != nil {
		return Reply{}, err
	}
	f := strictjson.BindLenient(v)
	protocol, theirs := f.Int("protocol", 0, 1<<30), f.String("version")
	if err := f.Err(); err != nil {
		return Reply{}, err
	}
	if protocol != Protocol || theirs != version.String() {
		return Reply{}, fmt.Errorf("it speaks protocol %d of version %q, this is version %q", protocol, theirs, version.String())
	}
	r := Reply{Error: f.String("error"), Hint: f.String("hint"), Warnings: f.Strings("warnings", most)}
	return r, f.Err()
}

// ReadLine reads up to the first LF and nothing beyond it that could be told apart: each
// side sends one line and waits. A line of more than MaxLine bytes is an error, and so is
// an end before the LF (io.ErrUnexpectedEOF).
func ReadLine(r io.Reader) ([]byte, error) {
	var line []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		line = append(line, buf[:n]...)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			if i != n-1 {
				return nil, errors.New("more than one line")
			}
			return line, nil
		}
		switch {
		case len(line) > MaxLine:
			return nil, errors.New("a line without an end")
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
	}
}
