package broker

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/seccomp"

	"brainbox/internal/needs"
)

// me is how a server sees the program of this test: this process's user, without groups if
// they can be dropped.
func me() string {
	groups := []uint32{}
	if os.Geteuid() != 0 {
		list, _ := os.Getgroups()
		for _, g := range list {
			groups = append(groups, uint32(g))
		}
	}
	return fmt.Sprintf("%d:%d:%v", os.Geteuid(), os.Getegid(), groups)
}

// Only what is listed is reached, however it is named: esc/IP-03, esc/IP-04, esc/IP-01.
func TestOnlyListedSockets(t *testing.T) {
	dir := folder(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	yes, packet := serve(t, "unix", in("yes")), serve(t, "unixpacket", in("packet"))
	no, noPacket := serve(t, "unix", in("no")), serve(t, "unixpacket", in("nopacket"))
	abstract := serve0(t, "@"+in("abstract"))
	for _, err := range []error{
		os.Mkdir(in("sub"), 0o755), os.Symlink("../yes", in("sub/link")), os.Symlink("no", in("other")),
		os.Link(in("yes"), in("hard")), os.Link(in("no"), in("hardno")), os.WriteFile(in("file"), nil, 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	attempts := []struct{ attempt, want string }{
		{"stream " + in("no"), "EACCES"},
		{"packet " + in("nopacket"), "EACCES"},
		{"nonblock " + in("no"), "EACCES"},
		{"stream " + in("other"), "EACCES"},
		{"send " + in("no"), "ENOTSUP"},               // connected sockets only, without an address,
		{"send-packet " + in("nopacket"), "ENOTCONN"}, // or the address is not looked at
		{"stream " + in("hardno"), "EACCES"},
		{"stream " + in("file"), "EACCES"},
		{"stream " + in("sub/../no"), "EACCES"},
		{"stream " + in("yes\x00") + in("no"), "yes " + me()},
		{"abstract " + in("abstract"), "EPERM"},
		{"dgram " + in("yes"), "socket EPERM"},
		{"stream /proc/self/cwd/yes", "ELOOP"},
		{"listen " + in("own"), "listens, connect EACCES"},
		{"stream " + in("absent"), "ENOENT"},
		{"stream " + in("yes"), "yes " + me()},
		{"nonblock " + in("yes"), "yes " + me()},
		{"packet " + in("packet"), "packet " + me()},
		{"stream " + in("sub/link"), "yes " + me()},
		{"stream " + in("hard"), "yes " + me()},
		{"stream yes", "ENOENT"},
		{"chdir " + in("sub"), "there"},
		{"stream ../no", "EACCES"},
		{"stream link", "yes " + me()},
		{"stream ../yes", "yes " + me()},
	}
	var args []string
	for _, a := range attempts {
		if !strings.Contains(a.attempt, "\x00") {
			args = append(args, a.attempt)
		}
	}
	p := start(t, Config{Sockets: []Socket{listed(t, in("yes")), listed(t, in("packet"))}}, seccomp.NetNone, "connect", args...)
	for _, a := range attempts {
		if strings.Contains(a.attempt, "\x00") {
			continue // TestDecide
		}
		if got := p.line(); got != a.want {
			t.Errorf("%s: %s, want %s", a.attempt, got, a.want)
		}
	}
	if no.count()+noPacket.count()+abstract.count() != 0 {
		t.Errorf("sockets that are not listed saw %d, %d, %d connections", no.count(), noPacket.count(), abstract.count())
	}
	if yes.count() != 6 || packet.count() != 1 {
		t.Errorf("the listed ones saw %d and %d connections, want 6 and 1", yes.count(), packet.count())
	}
	if s := p.b.Stats(); s.Connected != 7 || s.Refused != 10 || s.Unreadable != 0 {
		t.Errorf("stats %+v, want 7 connected, 10 refused", s)
	}
	// Positive control: without the filter the others answer.
	free := launch(t, nil, nil, "connect", []string{"stream " + in("no"), "packet " + in("nopacket"), "abstract " + in("abstract")})
	for _, want := range []string{"no", "nopacket", "abstract"} {
		if got := free.line(); !strings.HasPrefix(got, want+" ") {
			t.Errorf("without a filter: %s, want %s", got, want)
		}
	}
}

// serve0 serves an abstract name.
func serve0(t testing.TB, name string) *server {
	t.Helper()
	s := &server{t: t, path: name}
	l, err := listenUnix(name)
	if err != nil {
		t.Fatal(err)
	}
	s.l = l
	t.Cleanup(func() { _ = l.Close() })
	go s.run(l)
	return s
}

// Errors of form are the kernel's: the same program gets them without anybody between.
func TestErrorsAreTheKernels(t *testing.T) {
	needs.Kernel(t)
	dir := folder(t)
	at := filepath.Join(dir, "listed")
	serve(t, "unix", at)
	dead := serve(t, "unix", at+".dead")
	dead.l.SetUnlinkOnClose(false)
	_ = dead.l.Close()
	if err := os.Symlink(at+".loop", at+".loop"); err != nil {
		t.Fatal(err)
	}
	want := launch(t, nil, nil, "form", []string{at}).rest()
	if err := os.Remove(at + ".own"); err != nil {
		t.Fatal(err)
	}
	got := start(t, Config{Sockets: []Socket{listed(t, at), listed(t, at+".dead")}}, seccomp.NetNone, "form", at).rest()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-kernel +broker:\n%s", diff)
	}
	t.Logf("%d forms", len(want))
}

// A server that was started again has another inode and the same name. What it must still
// be: a socket of the same owner, no link; and with Pinned the very same inode.
func TestWhatAListedNameMustStillBe(t *testing.T) {
	dir := folder(t)
	at, other := filepath.Join(dir, "listed"), serve(t, "unix", filepath.Join(dir, "other"))
	first := serve(t, "unix", at)
	for _, pinned := range []bool{false, true} {
		t.Run("pinned "+strconv.FormatBool(pinned), func(t *testing.T) {
			s := listed(t, at)
			want := "listed " + me()
			if pinned {
				s = s.pin(t)
				want = "EACCES"
			}
			p := start(t, Config{Sockets: []Socket{s}}, seccomp.NetNone, "ask")
			ask := func(what, want string) {
				t.Helper()
				p.say("stream " + at)
				if got := p.line(); got != want {
					t.Errorf("%s: %s, want %s", what, got, want)
				}
			}
			ask("as it was", "listed "+me())
			_ = first.l.Close()
			ask("no server", "ENOENT")
			first.listen("unix")
			ask("started again", want)
			before := other.count()
			must(t, os.Rename(at, at+".old"))
			must(t, os.Symlink("other", at))
			ask("a link", "EACCES")
			must(t, os.Remove(at))
			must(t, os.WriteFile(at, nil, 0o644))
			ask("a file", "EACCES")
			must(t, os.Remove(at))
			if os.Geteuid() == 0 {
				must(t, os.Link(other.path, at))
				must(t, os.Lchown(at, 61234, 61234))
				ask("of another owner", "EACCES")
				must(t, os.Lchown(other.path, 0, 0))
				must(t, os.Remove(at))
			}
			if pinned {
				must(t, os.Link(other.path, at))
				ask("another socket of the same owner", "EACCES")
				must(t, os.Remove(at))
			}
			if other.count() != before {
				t.Errorf("the other server was reached")
			}
			must(t, os.Rename(at+".old", at))
			ask("put back", want)
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What may not be read is refused and counted; root may read it.
func TestUnreadablePrograms(t *testing.T) {
	at := filepath.Join(folder(t), "listed")
	s := serve(t, "unix", at)
	p := start(t, Config{Sockets: []Socket{listed(t, at)}}, seccomp.NetNone, "connect", "stream "+at, "undumpable", "stream "+at)
	want, count := []string{"listed " + me(), "hidden", "EACCES"}, int64(1)
	if os.Geteuid() == 0 {
		want[2], count = want[0], 0
	}
	if diff := cmp.Diff(want, p.rest()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := p.b.Stats().Unreadable; got != count {
		t.Errorf("%d unreadable, want %d", got, count)
	}
	if want := 2 - int(count); s.count() != want {
		t.Errorf("%d connections, want %d", s.count(), want)
	}
}

// esc/SC-10: the program cannot have a listener of its own, which would answer in our place.
func TestNoSecondListener(t *testing.T) {
	at := filepath.Join(folder(t), "listed")
	serve(t, "unix", at)
	p := start(t, Config{Sockets: []Socket{listed(t, at)}}, seccomp.NetNone, "connect", "listener", "stream "+at)
	if diff := cmp.Diff([]string{"EBUSY", "listed " + me()}, p.rest()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := launch(t, nil, nil, "connect", []string{"listener"}).line(); got != "ok" {
		t.Errorf("without a filter: %s", got)
	}
}

func TestNewRefusesWhatIsNoName(t *testing.T) {
	for _, s := range []Socket{{Folder: 3}, {Name: "x"}, {Folder: 3, Name: "a/b"}, {Folder: 3, Name: ".."}, {Folder: 3, Name: "a\x00"}} {
		if b, err := New(Config{Sockets: []Socket{s}}); err == nil {
			b.Close()
			t.Errorf("%+v: accepted", s)
		}
	}
}

// esc/SC-13: when the broker has gone nothing is connected.
func TestWithoutABrokerNothingIsConnected(t *testing.T) {
	at := filepath.Join(folder(t), "listed")
	s := serve(t, "unix", at)
	p := start(t, Config{Sockets: []Socket{listed(t, at)}}, seccomp.NetHost, "ask")
	p.say("stream " + at)
	if got := p.line(); got != "listed "+me() {
		t.Fatal(got)
	}
	p.b.Close()
	p.say("stream " + at)
	if got := p.line(); got != "ENOSYS" || s.count() != 1 {
		t.Errorf("%s, %d connections; want ENOSYS and 1", got, s.count())
	}
}
