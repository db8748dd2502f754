package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pair is a connected pair of Unix sockets.
func pair(t testing.TB) (server, client *net.UnixConn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := make([]*net.UnixConn, 2)
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		ends[i] = c.(*net.UnixConn) //nolint:forcetypeassert // made above
		t.Cleanup(func() { _ = ends[i].Close() })
	}
	return ends[0], ends[1]
}

// send writes text as its own goroutine does, in pieces of n bytes, and closes.
func send(c net.Conn, text string, n int) {
	for len(text) > 0 {
		k := min(n, len(text))
		if _, err := io.WriteString(c, text[:k]); err != nil {
			break
		}
		text = text[k:]
	}
	_ = c.Close()
}

// all reads frames up to the first error that is not recoverable.
func all(r *Reader) (frames []string, refused int, err error) {
	for {
		line, err := r.Next()
		switch {
		case Recoverable(err):
			refused++
		case err != nil:
			return frames, refused, err
		default:
			frames = append(frames, string(line))
		}
	}
}

func TestReaderRefuses(t *testing.T) {
	long := strings.Repeat("x", 100)
	tests := []struct {
		name, text string
		want       error
		frames     []string
		refused    int
	}{
		{"bg/A26 one byte over the limit", "ok\n" + long[:64] + "\n", ErrTooLarge, []string{"ok"}, 0},
		{"much over, without an end", "ok\n" + long, ErrTooLarge, []string{"ok"}, 0},
		{"carriage return before the line feed", "a\r\nb\n", io.EOF, []string{"b"}, 1},
		{"carriage return within", "a\rb\nc\n", io.EOF, []string{"c"}, 1},
		{"17 empty lines", strings.Repeat("\n", 17) + "a\n", ErrEmpty, nil, 0},
		{"esc/BR-02 truncated", "a\n{\"jsonrpc\":", io.ErrUnexpectedEOF, []string{"a"}, 0},
		{"16 empty lines twice", strings.Repeat("\n", 16) + "a\n" + strings.Repeat("\n", 16) + "b\n", io.EOF, []string{"a", "b"}, 0},
		{"exactly the limit", long[:63] + "\n", io.EOF, []string{long[:63]}, 0},
		{"many at once", "a\nbb\n" + long[:60] + "\nccc\nd\n", io.EOF, []string{"a", "bb", long[:60], "ccc", "d"}, 0},
		{"nothing", "", io.EOF, nil, 0},
	}
	for _, tt := range tests {
		for _, n := range []int{1, 7, 1000} {
			t.Run(tt.name, func(t *testing.T) {
				server, client := pair(t)
				go send(client, tt.text, n)
				r := NewReader(server, ReaderOptions{Frame: 64})
				frames, refused, err := all(r)
				if !errors.Is(err, tt.want) || refused != tt.refused || strings.Join(frames, "|") != strings.Join(tt.frames, "|") {
					t.Errorf("in pieces of %d: %q, %d refused, %v; want %q, %d, %v", n, frames, refused, err, tt.frames, tt.refused, tt.want)
				}
				if len(r.buf) > 64 {
					t.Errorf("the buffer has %d bytes", len(r.buf))
				}
			})
		}
	}
}

func TestReaderBoundsItsBuffer(t *testing.T) {
	server, client := pair(t)
	most := strings.Repeat("x", MaxFrame-1)
	go send(client, most+"\na\n"+most+"y\n", 1<<16)
	r := NewReader(server, ReaderOptions{Frame: 1 << 30})
	if line, err := r.Next(); err != nil || len(line) != MaxFrame-1 {
		t.Fatalf("a frame of 1 MiB: %d bytes, %v", len(line), err)
	}
	if line, err := r.Next(); err != nil || string(line) != "a" {
		t.Fatalf("the next: %q, %v", line, err)
	}
	if _, err := r.Next(); !errors.Is(err, ErrTooLarge) { // bg/A26
		t.Errorf("1 MiB and 1: %v", err)
	}
	if len(r.buf) > MaxFrame {
		t.Errorf("the buffer has %d bytes", len(r.buf))
	}
}

// A large buffer is not kept by a connection that has nothing to say.
func TestReaderLetsGoOfALargeBuffer(t *testing.T) {
	server, client := pair(t)
	r := NewReader(server, ReaderOptions{})
	go func() { _, _ = io.WriteString(client, strings.Repeat("x", 500_000)+"\n") }()
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if len(r.buf) < 500_000 {
		t.Fatalf("the buffer has %d bytes", len(r.buf))
	}
	go func() { _, _ = io.WriteString(client, "a\n") }()
	if _, err := r.Next(); err != nil || len(r.buf) > firstBuffer {
		t.Errorf("%v; the buffer has %d bytes", err, len(r.buf))
	}
}

func TestReaderDropsWhoSendsTooSlowly(t *testing.T) {
	for _, name := range []string{"esc/BR-02 one byte now and then", "silence within a frame"} {
		t.Run(name, func(t *testing.T) {
			server, client := pair(t)
			r := NewReader(server, ReaderOptions{Idle: 100 * time.Millisecond})
			go func() {
				for {
					if _, err := client.Write([]byte("x")); err != nil {
						return
					}
					if name[0] == 's' {
						return
					}
					time.Sleep(10 * time.Millisecond)
				}
			}()
			if _, err := r.Next(); !errors.Is(err, ErrIdle) {
				t.Errorf("%v", err)
			}
			_ = server.Close()
		})
	}
	t.Run("between frames there is time", func(t *testing.T) {
		server, client := pair(t)
		const idle = time.Second
		r := NewReader(server, ReaderOptions{Idle: idle})
		go func() {
			_, _ = io.WriteString(client, "a\nb")
			_, _ = io.WriteString(client, "\n")
			time.Sleep(idle + idle/4)
			send(client, "c\n", 10)
		}()
		if frames, _, err := all(r); !errors.Is(err, io.EOF) || strings.Join(frames, "") != "abc" {
			t.Errorf("%q, %v", frames, err)
		}
	})
	t.Run("but not before the hello", func(t *testing.T) {
		server, _ := pair(t)
		r := NewReader(server, ReaderOptions{})
		r.Until(time.Now().Add(20 * time.Millisecond))
		if _, err := r.Next(); !errors.Is(err, ErrIdle) {
			t.Errorf("%v", err)
		}
	})
}

// openFDs counts this process's descriptors.
func openFDs(t testing.TB) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// esc/BR-10, esc/IP-20: a passed descriptor is not received, and closes the connection;
// the frames before it count.
func TestReaderReceivesNoDescriptors(t *testing.T) {
	server, client := pair(t)
	file, err := os.Open(filepath.Join("testdata", "..", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	before := openFDs(t)
	if _, err := client.Write([]byte("a\n")); err != nil {
		t.Fatal(err)
	}
	r := NewReader(server, ReaderOptions{})
	if line, err := r.Next(); err != nil || string(line) != "a" {
		t.Fatalf("without one: %q, %v", line, err)
	}
	if _, _, err := client.WriteMsgUnix([]byte("b\n"), syscall.UnixRights(int(file.Fd()), int(file.Fd())), nil); err != nil {
		t.Fatal(err)
	}
	if line, err := r.Next(); !errors.Is(err, ErrAncillary) {
		t.Errorf("with descriptors: %q, %v", line, err)
	}
	if now := openFDs(t); now != before {
		t.Errorf("%d descriptors, before %d", now, before)
	}
}

// esc/BR-10: credentials that a peer claims are not read.
func TestReaderIgnoresClaimedCredentials(t *testing.T) {
	server, client := pair(t)
	own := syscall.UnixCredentials(&syscall.Ucred{Pid: int32(os.Getpid()), Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())}) //nolint:gosec // ids are small
	if _, _, err := client.WriteMsgUnix([]byte("a\n"), own, nil); err != nil {
		t.Fatal(err)
	}
	if line, err := NewReader(server, ReaderOptions{}).Next(); err != nil || string(line) != "a" {
		t.Errorf("%q, %v", line, err)
	}
}

func TestWriterKeepsToTheFrame(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	m := Message{Kind: Failure, Err: &Error{Code: CodeInternal, Message: strings.Repeat("x", MaxFrame)}}
	if err := w.Write(&m); !errors.Is(err, ErrTooLarge) || out.Len() != 0 {
		t.Errorf("%v, %d bytes written", err, out.Len())
	}
	m.Err.Message = "a\nb"
	if err := w.Write(&m); err != nil || strings.Count(out.String(), "\n") != 1 || !strings.HasSuffix(out.String(), "\n") {
		t.Errorf("%v, %q", err, out.String())
	}
}

// A reader of a file that holds a socket reads what one of a net.Conn does.
func TestReaderOfAFile(t *testing.T) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	server, client := os.NewFile(uintptr(ends[0]), "server"), os.NewFile(uintptr(ends[1]), "client")
	defer server.Close()
	r := NewReader(server, ReaderOptions{Idle: 50 * time.Millisecond})
	if _, err := client.WriteString("{}\n\n[1"); err != nil {
		t.Fatal(err)
	}
	if line, err := r.Next(); err != nil || string(line) != "{}" {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := r.Next(); !errors.Is(err, ErrIdle) {
		t.Errorf("a frame that does not end: %v", err)
	}
	if err := server.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	r = NewReader(server, ReaderOptions{})
	if err := syscall.Sendmsg(ends[1], []byte("{}\n"), syscall.UnixRights(ends[1]), nil, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, ErrAncillary) {
		t.Errorf("a descriptor that was passed: %v", err)
	}
	r = NewReader(server, ReaderOptions{})
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestLinksNoNet(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil || !bytes.Contains(out, []byte("brainbox/bridge/wire")) {
		t.Fatalf("%s, %v", out, err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		if dep == "net" || dep == "encoding/json" {
			t.Errorf("package wire links %s", dep)
		}
	}
}
