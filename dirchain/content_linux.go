package dirchain

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"golang.org/x/sys/unix"
)

// chunk is how much of a file is in memory at a time.
const chunk = 64 << 10

// sum hashes an open file from its start and counts it, up to limit bytes. size is
// what the file was seen to have.
func (c *calls) sum(ctx context.Context, fd int, size, limit int64) (Hash, int64, error) {
	return c.sumTo(ctx, fd, size, limit, func([]byte) {})
}

// sumTo is sum that also hands on what it reads.
func (c *calls) sumTo(ctx context.Context, fd int, size, limit int64, to func([]byte)) (Hash, int64, error) {
	h := sha256.New()
	n, err := c.each(ctx, fd, size, limit, func(b []byte) error {
		h.Write(b)
		to(b)
		return nil
	})
	return Hash(h.Sum(nil)), n, err
}

// each reads an open file from its start in chunks, up to limit bytes.
func (c *calls) each(ctx context.Context, fd int, size, limit int64, do func([]byte) error) (int64, error) {
	buf := c.buffer()
	defer c.buffers.Put(buf)
	var at int64
	for {
		if err := ctx.Err(); err != nil {
			return at, err
		}
		n, err := c.pread(fd, buf[:], at)
		switch {
		case err != nil:
			return at, err
		case n == 0:
			return at, nil
		case at+int64(n) > limit:
			return at, because(ErrTooLarge, fmt.Sprintf("more than %d bytes", limit))
		}
		at += int64(n)
		if err = do(buf[:n]); err != nil {
			return at, err
		}
		if at == size && n < len(buf) {
			return at, nil // less than asked for, up to the very size: one more call would give 0
		}
	}
}

// buffer is one to read a file into, never one for code of the caller: who keeps
// it could change what the next one reads.
func (c *calls) buffer() *[chunk]byte {
	if buf, ok := c.buffers.Get().(*[chunk]byte); ok {
		return buf
	}
	return new([chunk]byte)
}

// fill writes the new file: with Append the old content first, then the request's.
// What is hashed is what is written: the bytes are taken from the caller once.
func (s *staged) fill(ctx context.Context) error {
	if err := s.r.point("fill"); err != nil {
		return err
	}
	whole := sha256.New()
	added := whole // of the request's content alone: the same, but behind an old one
	if s.req.Mode == Append && s.old >= 0 {
		n, err := s.r.each(ctx, s.old, s.before.Size, s.r.opts.MaxFile, func(b []byte) error {
			whole.Write(b)
			return s.r.writeAll(s.fd, b)
		})
		if err != nil {
			return err
		}
		s.result.Size, added = n, sha256.New()
	}
	if err := s.pour(ctx, whole, added); err != nil {
		return err
	}
	s.req.Content = nil // a batch would keep the text of all its edits
	s.result.SHA256 = Hash(whole.Sum(nil))
	if got := Hash(added.Sum(nil)); s.req.Digest != nil && got != *s.req.Digest {
		return because(ErrStale, "the content has "+got.String()+", approved was "+s.req.Digest.String())
	}
	if !s.r.opts.SkipSync {
		if err := s.r.fsync(s.fd); err != nil {
			return err
		}
	}
	var err error
	s.wrote, err = s.r.statAt(s.fd, "")
	if err == nil && s.wrote.Size != s.result.Size {
		err = because(ErrChanged, "somebody else wrote to the new file")
	}
	return err
}

// pour copies the request's content, up to the root's limit for the whole file.
func (s *staged) pour(ctx context.Context, whole, added hash.Hash) error {
	if s.req.Content == nil {
		return nil
	}
	buf := make([]byte, pourSize(s.req.Content))
	for empty := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := s.req.Content.Read(buf)
		if s.result.Size += int64(n); s.result.Size > s.r.opts.MaxFile {
			return because(ErrTooLarge, fmt.Sprintf("more than %d bytes", s.r.opts.MaxFile))
		}
		if whole.Write(buf[:n]); added != whole {
			added.Write(buf[:n])
		}
		if werr := s.r.writeAll(s.fd, buf[:n]); werr != nil {
			return werr
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("content: %w", err)
		case n > 0:
			empty = 0
		default:
			if empty++; empty > maxAgain {
				return fmt.Errorf("content: %w", io.ErrNoProgress)
			}
		}
	}
}

// pourSize is the size of the buffer for a reader: of those that know how much
// they have (bytes.Reader, strings.Reader, bytes.Buffer) little more than that.
func pourSize(r io.Reader) int {
	if sized, ok := r.(interface{ Len() int }); ok {
		return max(minPour, min(chunk, sized.Len()))
	}
	return chunk
}

const minPour = 512

const aclName = "system.posix_acl_access"

// copyACL gives to the POSIX access list of from, or none when from has none (a
// default list of the directory may have given it one). Without it the group bits
// of a mode that was masked by a list would become rights of the group (acl(5)).
func (c *calls) copyACL(from, to int) error {
	buf := make([]byte, 1024)
	var n int
	for {
		err := c.do("fgetxattr", func() (err error) { n, err = unix.Fgetxattr(from, aclName, buf); return err })
		if errors.Is(err, unix.ERANGE) && len(buf) <= 64<<10 {
			buf = make([]byte, 2*len(buf))
			continue
		}
		if errors.Is(err, unix.ENODATA) {
			return c.dropACL(to)
		}
		if errors.Is(err, unix.EOPNOTSUPP) {
			return nil
		}
		if err != nil {
			return err
		}
		break
	}
	return c.do("fsetxattr", func() error { return unix.Fsetxattr(to, aclName, buf[:n], 0) })
}

func (c *calls) dropACL(fd int) error {
	err := c.do("fremovexattr", func() error { return unix.Fremovexattr(fd, aclName) })
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	return err
}
