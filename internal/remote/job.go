package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"brainbox/internal/strictjson"
	"brainbox/internal/supervise"
)

// header announces a job.
type header struct {
	digest string
	size   int
	fds    int
}

func (h header) encode() []byte {
	v := strictjson.Object(
		strictjson.Pair("sha256", strictjson.Text(h.digest)),
		strictjson.Pair("size", strictjson.Int(int64(h.size))),
		strictjson.Pair("descriptors", strictjson.Int(int64(h.fds))))
	return strictjson.Append(nil, &v)
}

func decodeHeader(data []byte) (header, error) {
	v, err := strictjson.Decode(data, strictjson.Limits{})
	if err != nil {
		return header{}, err
	}
	f := strictjson.Bind(v, "sha256", "size", "descriptors")
	h := header{
		digest: f.String("sha256"), size: int(f.Int("size", 1, supervise.MaxJob)),
		fds: int(f.Int("descriptors", 3, 4096)),
	}
	return h, f.Err()
}

// sendJob writes the header, the text in packets, and the descriptors in packets of
// their own.
func (l *link) sendJob(text []byte, fds []int) error {
	sum := sha256.Sum256(text)
	if err := l.send(header{hex.EncodeToString(sum[:]), len(text), len(fds)}.encode()); err != nil {
		return err
	}
	for len(text) > 0 {
		n := min(len(text), maxPacket)
		if err := l.send(text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	for len(fds) > 0 {
		n := min(len(fds), maxRights)
		if err := l.send([]byte("descriptors"), fds[:n]...); err != nil {
			return err
		}
		fds = fds[n:]
	}
	return nil
}

// receiveJob reads what sendJob wrote after a header that next delivered. The text must
// have the announced digest: a job is carried out as it was decided, or not at all.
func receiveJob(h header, next func() (packet, error)) (*supervise.Job, []int, error) {
	var text []byte
	var fds []int
	bad := func(err error) (*supervise.Job, []int, error) {
		closeAll(fds)
		return nil, nil, err
	}
	for len(text) < h.size || len(fds) < h.fds {
		p, err := next()
		if err != nil {
			return bad(err)
		}
		fds = append(fds, p.fds...)
		if len(text) < h.size {
			text = append(text, p.data...)
		}
		if len(text) > h.size || len(fds) > h.fds {
			return bad(fmt.Errorf("remote: more of a job than was announced"))
		}
	}
	sum := sha256.Sum256(text)
	if hex.EncodeToString(sum[:]) != h.digest {
		return bad(fmt.Errorf("remote: the job does not have the announced digest"))
	}
	j, err := supervise.Decode(text, fds)
	if err != nil {
		return bad(err)
	}
	return j, fds, nil
}
