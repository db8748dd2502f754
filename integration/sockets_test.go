package integration

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// listNeeds is what a listed socket takes here.
func listNeeds(t testing.TB) {
	t.Helper()
	kernel(t)
	if !inside() {
		needs.Notify(t)
	}
}

// reach connects a stream socket to a path.
func reach(path string) string {
	return then(socket(unix.AF_UNIX, unix.SOCK_STREAM, 0), connect("un:"+path))
}

// TestMatrixListedSockets is area I where one socket is listed: it is reached, and nothing
// else is, by whatever well known name.
func TestMatrixListedSockets(t *testing.T) {
	listNeeds(t)
	yes := serverAt(t, "unix", filepath.Join(shortDir(t), "listed"))
	const un, stream, dgram, seq = unix.AF_UNIX, unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET
	gone := append(last(1, "ECONNREFUSED", "ENOENT"), errnos("EPERM", "EACCES")...)
	try := func(id, name string, kind int, use string, want ...string) row {
		return row{id: id, name: name, attempt: then(socket(un, kind, 0), use), want: want, ns: gone}
	}
	named := func(id, file string) row {
		variable := "N" + strings.ReplaceAll(id, "-", "")
		r := try(id, file, stream, connect("un:{"+variable+"}"), last(1, "EACCES")...)
		r.prepare = func(t *testing.T, w *world) {
			w.net.stream(t, variable, "unix", filepath.Join(filepath.Dir(w.vars["UNIX"]), file))
			w.vars[variable] = w.net.vars[variable]
		}
		return r
	}
	listed := row{id: "IP-03", name: "the listed one", attempt: reach(yes.path), want: []string{"ok"}}
	real, control := runRows(t, []row{
		listed,
		try("IP-01", "abstract stream", stream, connect("ab:{ABSTRACT}"), last(1, "EPERM")...),
		try("IP-02", "abstract datagram", dgram, sendTo("ab:{ABSTRACTDGRAM}"), errnos("EPERM")...),
		try("IP-03", "stream by path", stream, connect("un:{UNIX}"), last(1, "EACCES")...),
		try("IP-04", "seqpacket by path", seq, connect("un:{SEQPACKET}"), last(1, "EACCES")...),
		try("IP-04", "datagram by path", dgram, sendTo("un:{DGRAM}"), errnos("EPERM")...),
		named("IP-05", "docker.sock"), named("IP-06", "bus"), named("IP-07", "private"), named("IP-08", "agent.sock"),
		named("IP-09", "X0"), named("IP-10", "default"), named("IP-11", "singleton"), named("IP-12", ".s.PGSQL.5432"),
		listed,
	}, "--unix", yes.path)
	if got := real.net.got.Load(); got != 0 {
		t.Errorf("%d connections or messages arrived at sockets that are not listed", got)
	}
	waitFor(t, "what the controls sent", func() bool { return control.net.got.Load() >= 12 })
	waitFor(t, "two connections, and two of the control", func() bool { return yes.count() == 4 })
}

// use runs a command with a socket listed, and then without.
func use(t *testing.T, path string, flags []string, command ...string) (with, without result) {
	t.Helper()
	w := newWorld(t)
	with = confined(t, w, append(flags, "--unix", path), command...)
	return with, confined(t, w, flags, command...)
}

// TestAgentSocket: ssh-add finds the agent whose socket is listed, by its own variable.
func TestAgentSocket(t *testing.T) {
	listNeeds(t)
	agent, add, keygen := needs.Program(t, "ssh-agent"), needs.Program(t, "ssh-add"), needs.Program(t, "ssh-keygen")
	dir := shortDir(t)
	path, key := filepath.Join(dir, "agent"), filepath.Join(dir, "key")
	cmd := exec.Command(agent, "-D", "-a", path)
	must(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	waitFor(t, "the agent", func() bool { return unix.Access(path, unix.R_OK) == nil })
	t.Setenv("SSH_AUTH_SOCK", path)
	for _, c := range [][]string{{keygen, "-q", "-t", "ed25519", "-N", "", "-C", "canary-key", "-f", key}, {add, "-q", key}} {
		out, err := exec.Command(c[0], c[1:]...).CombinedOutput()
		if err != nil && strings.Contains(string(out), "No user exists") {
			t.Skipf("%s: %s", c[0], out) // gating: a user without an entry in /etc/passwd
		}
		if err != nil {
			t.Fatalf("%v: %v\n%s", c, err, out)
		}
	}
	with, without := use(t, path, nil, add, "-l")
	if with.status != 0 || !strings.Contains(with.out, "canary-key") {
		t.Errorf("listed: status %d, %q %q", with.status, with.out, with.err)
	}
	if without.status == 0 || strings.Contains(without.out, "canary-key") {
		t.Errorf("not listed: status %d, %q", without.status, without.out)
	}
	// The variable alone opens nothing.
	named := confined(t, newWorld(t), []string{"--env", "SSH_AUTH_SOCK=" + path}, add, "-l")
	if named.status == 0 || strings.Contains(named.out, "canary-key") {
		t.Errorf("named, not listed: status %d, %q", named.status, named.out)
	}
}

// TestContainerSocket: a client of docker's kind, which speaks HTTP.
func TestContainerSocket(t *testing.T) {
	listNeeds(t)
	curl := needs.Program(t, "curl")
	dir := shortDir(t)
	path := filepath.Join(dir, "docker.sock")
	l, err := net.Listen("unix", path)
	must(t, err)
	var mu sync.Mutex
	var asked []string
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		_, _ = io.WriteString(w, `{"ApiVersion":"1.47"}`)
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	with, without := use(t, path, []string{"-v"}, curl, "-sS", "--unix-socket", path, "http://docker/version")
	if with.status != 0 || with.out != `{"ApiVersion":"1.47"}` {
		t.Errorf("listed: status %d, %q %q", with.status, with.out, with.err)
	}
	if !strings.Contains(with.err, "everything that root may do") {
		t.Errorf("nothing is said of what this socket gives: %q", with.err)
	}
	if without.status == 0 || without.out != "" {
		t.Errorf("not listed: status %d, %q", without.status, without.out)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 1 {
		t.Errorf("the server was asked %v, want one request", asked)
	}
}

// TestDatabaseSocket: a database's own name, and the first packet that its client sends. The
// server is started again while the program runs.
func TestDatabaseSocket(t *testing.T) {
	listNeeds(t)
	dir := shortDir(t)
	db, other := serverAt(t, "unix", filepath.Join(dir, ".s.PGSQL.5432")), serverAt(t, "unix", filepath.Join(dir, ".s.PGSQL.5433"))
	ask := func(path string) string {
		return then(reach(path), call(unix.SYS_WRITE, "$1", "hex:00000008000300007573657200", 13))
	}
	w := newWorld(t)
	in := w.box(t, "--unix", db.path)
	if got := in.ask(t, ask(db.path)); !strings.HasPrefix(got, "ok") {
		t.Errorf("listed: %q", got)
	}
	waitFor(t, "the start-up packet", func() bool { return strings.Contains(db.text(), "user") })
	if got := in.ask(t, ask(other.path)); !hit(got, append(last(1, "EACCES"), last(1, "ENOENT")...)) || other.count() != 0 {
		t.Errorf("not listed: %q, %d connections", got, other.count())
	}
	if want := fmt.Sprintf("%d:%d", os.Geteuid(), os.Getegid()); db.from() != want {
		t.Errorf("the server sees %s, want %s", db.from(), want)
	}
	if got := bare(t, w.dir("W")).ask(t, ask(other.path)); !strings.HasPrefix(got, "ok") {
		t.Errorf("control: %q", got)
	}
	if inside() {
		return // what is mounted is the inode that was there
	}
	must(t, db.l.Close())
	db.listen(t, "unix")
	before := db.count()
	if got := in.ask(t, ask(db.path)); !strings.HasPrefix(got, "ok") {
		t.Errorf("started again: %q", got)
	}
	waitFor(t, "the second server", func() bool { return db.count() > before })
}

// TestReplacedSocket is esc/IP-14: the program can write to the folder of a listed socket,
// and puts another in its place.
func TestReplacedSocket(t *testing.T) {
	listNeeds(t)
	for what, swap := range map[string]func(yes, no string) string{
		"moved over": func(yes, no string) string { return renameat2(no, yes, 0) },
		"exchanged":  func(yes, no string) string { return renameat2(no, yes, unix.RENAME_EXCHANGE) },
		"linked": func(yes, no string) string {
			return then(unlinkat(yes, 0), call(unix.SYS_LINKAT, cwd, "s:"+no, cwd, "s:"+yes, 0))
		},
		"a link": func(yes, _ string) string {
			return then(unlinkat(yes, 0), call(unix.SYS_SYMLINKAT, "s:no", cwd, "s:"+yes))
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir := shortDir(t)
			must(t, os.Chmod(dir, 0o777))
			yes, no := serverAt(t, "unix", filepath.Join(dir, "yes")), serverAt(t, "unix", filepath.Join(dir, "no"))
			in := newWorld(t).box(t, "--rw", dir, "--unix", yes.path)
			if got := in.ask(t, reach(yes.path)); !strings.HasPrefix(got, "ok") {
				t.Fatalf("as it was: %q", got)
			}
			said := in.ask(t, swap(yes.path, no.path))
			got := in.ask(t, reach(yes.path))
			if inside() { // the other one is masked, whatever leads to it
				if strings.HasPrefix(got, "ok") && strings.HasPrefix(said, "ok") || no.count() != 0 {
					t.Errorf("%q, then %q; the other server was reached %d times", said, got, no.count())
				}
				return
			}
			if !strings.HasPrefix(said, "ok") || !hit(got, last(1, "EACCES")) || no.count() != 0 {
				t.Errorf("%q, then %q, want EACCES; the other server was reached %d times", said, got, no.count())
			}
		})
	}
}

// TestSocketsBesideTCP: with a socket listed, TCP goes by the ports as before.
func TestSocketsBesideTCP(t *testing.T) {
	listNeeds(t)
	w := newWorld(t)
	yes := serverAt(t, "unix", filepath.Join(shortDir(t), "listed"))
	port := w.net.vars["TCP4"][strings.LastIndex(w.net.vars["TCP4"], ":")+1:]
	other, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	defer other.Close()
	tcp := func(address string) string {
		return then(socket(unix.AF_INET, unix.SOCK_STREAM, 0), connect("in4:"+address))
	}
	ports := w.box(t, "--unix", yes.path, "--net", "ports", "--connect-tcp", port)
	if got := ports.ask(t, tcp(other.Addr().String())); !hit(got, last(1, "EACCES")) {
		t.Errorf("esc/NW-01 another port: %q", got)
	}
	for _, attempt := range []string{tcp(w.net.vars["TCP4"]), reach(yes.path)} {
		if got := ports.ask(t, attempt); !strings.HasPrefix(got, "ok") {
			t.Errorf("%s: %q", attempt, got)
		}
	}
	host := newWorld(t).box(t, "--unix", yes.path, "--net", "host")
	for _, attempt := range []string{tcp(other.Addr().String()), reach(yes.path)} {
		if got := host.ask(t, attempt); !strings.HasPrefix(got, "ok") {
			t.Errorf("--net host: %s: %q", attempt, got)
		}
	}
}

// TestServerSeesTheDroppedUser: root's brainbox, another user's program.
func TestServerSeesTheDroppedUser(t *testing.T) {
	listNeeds(t)
	needs.Root(t)
	dir := shortDir(t)
	s := serverAt(t, "unix", filepath.Join(dir, "open"))
	closed := serverAt(t, "unix", filepath.Join(dir, "closed"))
	must(t, os.Chmod(closed.path, 0o700))
	policy := filepath.Join(dir, "policy.toml")
	must(t, os.WriteFile(policy, []byte(fmt.Sprintf("version = 1\nextends = [\"default\"]\n[network]\nunix = [%q, %q]\n"+
		"[sandbox]\nidentity = { user = \"%d\", group = \"%d\", groups = [] }\n", s.path, closed.path, otherUser, otherUser)), 0o644))
	work := filepath.Join(dir, "work")
	must(t, os.Mkdir(work, 0o777))
	home := filepath.Join(dir, "bin")
	must(t, os.Mkdir(home, 0o755))
	copyProgram(t, program("victim"), filepath.Join(home, "victim"))
	start := func(path string) result {
		args := append([]string{"run", "--isolation", isolation, "--policy", policy, "--rox", home, "--", filepath.Join(home, "victim")}, strings.Fields(reach(path))...)
		return run(t, work, exec.Command(program("brainbox"), args...))
	}
	if r := start(closed.path); !strings.HasPrefix(r.out, "errno EACCES") || closed.count() != 0 {
		t.Errorf("root's own socket: status %d, %q %q", r.status, r.out, r.err)
	}
	r := start(s.path)
	waitFor(t, "the connection", func() bool { return s.count() == 1 || !strings.HasPrefix(r.out, "ok") })
	if want := fmt.Sprintf("%d:%d", otherUser, otherUser); !strings.HasPrefix(r.out, "ok") || s.from() != want {
		t.Errorf("the server sees %q, want %s: status %d, %q %q", s.from(), want, r.status, r.out, r.err)
	}
}
