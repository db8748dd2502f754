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

// sum hashes an open file from its start and counts it, up to limit bytes.
func (c *calls) sum(ctx context.Context, fd int, limit int64) (Hash, int64, error) {
	return c.sumTo(ctx, fd, limit, func([]byte) {})
}

// sumTo is sum that also hands on what it reads.
func (c *calls) sumTo(ctx context.Context, fd int, limit int64, to func([]byte)) (Hash, int64, error) {
	h := sha256.New()
	n, err := c.each(ctx, fd, limit, func(b []byte) error {
		h.Write(b)
		to(b)
		return nil
	})
	return Hash(h.Sum(nil)), n, err
}

// each reads an open file from its start in chunks, up to limit bytes.
func (c *calls) each(ctx context.Context, fd int, limit int64, do func([]byte) error) (int64, error) {
	buf := make([]byte, min(chunk, limit+1))
	var at int64
	for {
		if err := ctx.Err(); err != nil {
			return at, err
		}
		n, err := c.pread(fd, buf, at)
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
	}
}

// fill writes the new file: with Append the old content first, then the request's.
// What is hashed is what is written: the bytes are taken from the caller once.
func (s *staged) fill(ctx context.Context) error {
	if err := s.r.point("fill"); err != nil {
		return err
	}
	whole, added := sha256.New(), sha256.New()
	out := io.MultiWriter(whole, tempWriter{s})
	if s.req.Mode == Append && s.old >= 0 {
		n, err := s.r.each(ctx, s.old, s.r.opts.MaxFile, func(b []byte) error { _, err := out.Write(b); return err })
		if err != nil {
			return err
		}
		s.result.Size = n
	}
	if err := s.pour(ctx, out, added); err != nil {
		return err
	}
	s.result.SHA256 = Hash(whole.Sum(nil))
	if got := Hash(added.Sum(nil)); s.req.Digest != nil && got != *s.req.Digest {
		return because(ErrStale, "the content has "+got.String()+", approved was "+s.req.Digest.String())
	}
	if s.r.opts.SkipSync {
		return nil
	}
	return s.r.fsync(s.fd)
}

// pour copies the request's content, up to the root's limit for the whole file.
func (s *staged) pour(ctx context.Context, out io.Writer, added hash.Hash) error {
	if s.req.Content == nil {
		return nil
	}
	buf := make([]byte, chunk)
	for empty := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := s.req.Content.Read(buf)
		if s.result.Size += int64(n); s.result.Size > s.r.opts.MaxFile {
			return because(ErrTooLarge, fmt.Sprintf("more than %d bytes", s.r.opts.MaxFile))
		}
		added.Write(buf[:n])
		if _, werr := out.Write(buf[:n]); werr != nil {
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

// tempWriter writes to the new file.
type tempWriter struct{ s *staged }

func (w tempWriter) Write(b []byte) (int, error) {
	if err := w.s.r.writeAll(w.s.fd, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

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
