package explain

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/launcher"

	"brainbox/internal/needs"
)

// socketAddress is an address in the kernel's form.
func socketAddress(family uint16, rest ...byte) []byte {
	return append(binary.NativeEndian.AppendUint16(nil, family), rest...)
}

func unixAddress(path string) []byte { return socketAddress(unix.AF_UNIX, append([]byte(path), 0)...) }

func inet(family uint16, port uint16) []byte {
	return append(binary.BigEndian.AppendUint16(socketAddress(family), port), make([]byte, 24)...)
}

func TestSockets(t *testing.T) {
	needs.Kernel(t)
	dir := realTemp(t)
	put(t, dir, "f", "d/")
	t.Chdir(dir)
	var lc net.ListenConfig
	for _, name := range []string{"s", "@" + dir + "/abstract"} {
		l, err := lc.Listen(t.Context(), "unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	socket := func(family, kind, protocol int) int {
		fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	tcp, udp := socket(unix.AF_INET, unix.SOCK_STREAM, 0), socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	local, dgram := socket(unix.AF_UNIX, unix.SOCK_STREAM, 0), socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	file, err := unix.Open(dir+"/f", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(file)
	abstract := socketAddress(unix.AF_UNIX, []byte("\x00"+dir+"/abstract")...)
	own := socketAddress(unix.AF_UNIX, []byte("\x00own")...)
	w := newWatch(t, Config{Judge: grants{ports: []uint16{443}}, Abstract: true})
	for _, tc := range []struct {
		want, call string
		fd         int
		address    []byte
	}{
		{"connect refused", "connect", tcp, inet(unix.AF_INET, 80)},
		{"bind refused", "bind", tcp, inet(unix.AF_INET, 80)},
		{"bind refused", "bind", tcp, inet(unix.AF_UNSPEC, 80)},
		{"unix s socket refused", "connect", local, unixAddress("s")},
		{"unix s socket refused", "connect", dgram, unixAddress(dir + "/d/../s")},
		{"create d/n socket refused", "bind", local, unixAddress("d/n")},
		{"unix @abstract socket refused", "connect", local, abstract},

		{"", "connect", tcp, inet(unix.AF_INET, 443)},
		{"", "connect", tcp, inet(unix.AF_UNSPEC, 80)},
		{"", "connect", tcp, inet(unix.AF_INET, 80)[:8]},
		{"", "connect", tcp, unixAddress("s")},
		{"", "connect", udp, inet(unix.AF_INET, 80)},
		{"", "connect", file, inet(unix.AF_INET, 80)},
		{"", "connect", 999, inet(unix.AF_INET, 80)},
		{"", "connect", local, inet(unix.AF_INET, 80)},
		{"", "connect", local, unixAddress("n")},
		{"", "connect", local, unixAddress("f")},
		{"", "connect", local, own},
		{"", "bind", local, unixAddress("f")},
		{"", "bind", local, own},
		{"", "bind", local, socketAddress(unix.AF_UNIX)},
		{"", "connect", local, own},
	} {
		if got := words(w.call(tc.call, tc.fd, tc.address, len(tc.address)), dir); got != tc.want {
			t.Errorf("%s %q: got %q, want %q", tc.call, tc.address, got, tc.want)
		}
	}
}

// A lookup of a name is told where nobody answers it, and only there.
func TestLookup(t *testing.T) {
	needs.Kernel(t)
	kinds := map[string]int{"udp": unix.SOCK_DGRAM, "tcp": unix.SOCK_STREAM}
	for name, kind := range kinds {
		fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		kinds[name] = fd
		defer unix.Close(fd)
	}
	for _, tc := range []struct {
		want, call, kind string
		port             uint16
		cfg              Config
	}{
		{"connect refused", "connect", "udp", 53, Config{NoNames: true}},
		{"", "connect", "udp", 53, Config{}},
		{"", "connect", "udp", 54, Config{NoNames: true}},
		{"", "bind", "udp", 53, Config{NoNames: true}},
		{"", "connect", "udp", 53, Config{NoNames: true, Uses: true}},
		{"", "connect", "tcp", 53, Config{NoNames: true}},
	} {
		tc.cfg.Judge = grants{ports: []uint16{53}}
		w := newWatch(t, tc.cfg)
		address := inet(unix.AF_INET, tc.port)
		got := w.call(tc.call, kinds[tc.kind], address, len(address))
		if tc.kind == "tcp" || tc.cfg.Uses {
			got = slices.DeleteFunc(got, func(s *Seen) bool { return s.Judgement.Verdict == launcher.Allowed })
		}
		if s := words(got, ""); s != tc.want {
			t.Errorf("%+v: got %q", tc, s)
		}
	}
}

func TestHasAbstract(t *testing.T) {
	text := []byte("Num       RefCount Protocol Flags    Type St Inode Path\n" +
		"0000000000000000: 00000002 00000000 00010000 0001 01  1234 @a b@c\n" +
		"0000000000000000: 00000002 00000000 00010000 0001 01 123456 /run/@x\n" +
		"0000000000000000: 00000003 00000000 00000000 0001 03  1234\n")
	for name, want := range map[string]bool{"a b\x00c": true, "a b@c": true, "a": false, "x": false, "": false} {
		if got := hasAbstract(text, name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add(inet(unix.AF_INET, 80))
	f.Add(unixAddress("/run/s"))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, ok := parseAddress(b); ok && (bytes.IndexByte(a.path, 0) >= 0 || len(a.path) > 108 || len(a.name) > 107) {
			t.Errorf("%q: %+v", b, a)
		}
	})
}
