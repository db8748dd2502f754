package launcher

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

const inProxyMode = "extends = [\"default\"]\n[network]\nmode = \"proxy\"\n"

// reaches are lines of bash that say what a program inside reaches. Its messages hold the
// number of the line, and are cut.
const reaches = `exec 2>&1; touch ran
tcp() { (exec 3<>/dev/tcp/$1/$2 && cat <&3) 2>&1 | sed -n 's/^.*: //; 1p'; }
tcp 127.0.0.1 1023
tcp 127.0.0.1 53
exec 3<>/dev/udp/127.0.0.1/53 && echo question >&3 && head -n 1 <&3
for to in "203.0.113.9 80" "203.0.113.9 53" "127.0.0.1 80" "8.8.8.8 1023"; do tcp $to; done
`

// The program is started when its network is served, and reaches what was handed over and
// nothing else: an address of the world is its own.
func TestTheProgramReachesWhatIsServed(t *testing.T) {
	needs.Netns(t)
	bash := needs.Program(t, "bash")
	dir := checkout(t, "f: x")
	a := &answering{ran: dir + "/ran"}
	script := bash + ` -c '` + strings.ReplaceAll(reaches, "'", `'\''`) + `'
if [ -e /proc/net/if_inet6 ]; then ` + bash + ` -c 'exec 2>&1; (exec 3<>/dev/tcp/2001:db8::9/443) 2>&1 | sed -n "s/^.*: //; 1p"'; else echo Connection refused; fi
cat /etc/resolv.conf; grep ^hosts: /etc/nsswitch.conf; grep -c localhost /etc/hosts
echo x 2>/dev/null >/etc/hosts || echo kept
env | grep -ci _proxy; echo $https_proxy $ALL_PROXY`
	var run string
	a.seen = func(step string) {
		if _, err := os.Stat(run); step == "stop" && err != nil {
			t.Errorf("the run's folders are gone before the service ends: %v", err)
		}
	}
	res, out, err := runInside(t, dir, inProxyMode, script, func(f *Facts) {
		run, f.Proxy = f.RunDir, &Proxy{Serve: a.serve}
		f.Environ = append(f.Environ, "https_proxy=http://caller:1", "ALL_PROXY=http://caller:1")
	})
	if err != nil || res.Status != 0 {
		t.Fatalf("%+v, %v\n%s", res, err, out)
	}
	want := "proxy at 127.0.0.1:1023\nlookup at 127.0.0.1:53\necho question\n" + strings.Repeat("Connection refused\n", 5) +
		"nameserver 127.0.0.1\nhosts: files dns\n2\nkept\n8\nhttp://127.0.0.1:1023 socks5h://127.0.0.1:1023\n"
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"serve", "ready", "hand", "stop"}, a.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	for fd, was := range a.were {
		var now unix.Stat_t
		if err := unix.Fstat(fd, &now); err == nil && now.Dev == was.Dev && now.Ino == was.Ino {
			t.Errorf("descriptor %d was handed over and is open still", fd)
		}
	}
	if len(a.were) != 5 {
		t.Errorf("handed over: %+v", a.got)
	}
}

// With published ports alone nothing is made inside: there is no way out, and no listener.
func TestPublishedPortsAlone(t *testing.T) {
	needs.Netns(t)
	bash := needs.Program(t, "bash")
	dir := checkout(t, "f: x")
	a := &answering{ran: dir + "/ran"}
	var ours, theirs unix.Stat_t
	a.seen = func(step string) {
		if step == "hand" {
			if err := errors.Join(unix.Stat("/proc/self/ns/net", &ours), unix.Fstat(a.got.Net, &theirs)); err != nil {
				t.Error(err)
			}
		}
	}
	res, out, err := runInside(t, dir, "extends = [\"default\"]\n[network]\npublish = [3000]\n", bash+` -c '
touch ran; for to in 127.0.0.1/1023 203.0.113.9/80; do (exec 3<>/dev/tcp/$to) 2>&1 | sed -n "s/^.*: //; 1p"; done; env | grep -ci _proxy'`,
		func(f *Facts) { f.Proxy = &Proxy{Serve: a.serve} })
	if want := "Connection refused\nNetwork is unreachable\n0\n"; err != nil || out != want {
		t.Errorf("%+v, %v: %q, want %q", res, err, out, want)
	}
	if diff := cmp.Diff([]string{"serve", "ready", "hand", "stop"}, a.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if a.got.Proxy != -1 || a.got.LookupUDP != -1 || a.got.LookupTCP != -1 || ours.Ino == 0 || ours.Ino == theirs.Ino {
		t.Errorf("handed over: %+v; namespaces %d and %d", a.got, ours.Ino, theirs.Ino)
	}
}

// A step that fails ends the start: the program never runs, who began is told to stop once,
// and nothing is left.
func TestANetworkThatIsNotServed(t *testing.T) {
	needs.Netns(t)
	own := &Refusal{Status: StatusRefused, Clause: "hosts", Message: "brainbox-host: is too old", Hint: "install both"}
	for _, c := range []struct {
		fails string
		err   error
		calls string
		want  string
	}{
		{"serve", unix.ENOEXEC, "serve", "hosts: the network of the program: begin: " + unix.ENOEXEC.Error()},
		{"ready", unix.EPIPE, "serve ready stop", "hosts: the network of the program: get ready: " + unix.EPIPE.Error()},
		{"hand", unix.EPIPE, "serve ready hand stop", "hosts: the network of the program: hand over: " + unix.EPIPE.Error()},
		{"hand", own, "serve ready hand stop", own.Message},
		{"the program", nil, "serve ready hand stop", "exec format error"},
		{"a folder", nil, "serve stop", "not a directory"},
		{"nothing", nil, "serve ready hand stop", ""}, // positive control
	} {
		t.Run(c.fails, func(t *testing.T) {
			dir := checkout(t, "f: x", "bad: x")
			if err := os.Chmod(dir+"/bad", 0o755); err != nil {
				t.Fatal(err)
			}
			a := &answering{ran: dir + "/ran", fails: map[string]error{}}
			if c.err != nil {
				a.fails[c.fails] = c.err
			}
			var run string
			_, out, err := runInside(t, dir, inProxyMode, "touch ran", func(f *Facts) {
				run, f.Proxy = f.RunDir, &Proxy{Serve: a.serve}
				switch c.fails {
				case "the program":
					f.File = dir + "/bad"
				case "a folder":
					f.RunDir = dir + "/f/run"
				}
			})
			var r *Refusal
			if got := errors.As(err, &r); got != (c.err != nil || c.want == "exec format error") || c.want == "" && err != nil {
				t.Errorf("%v", err)
			}
			if err != nil && !strings.Contains(err.Error(), c.want) || r != nil && c.err != nil && (r.Status != StatusRefused || r.Hint == "") {
				t.Errorf("%+v, want %q\n%s", err, c.want, out)
			}
			if got := strings.Join(a.calls, " "); got != c.calls {
				t.Errorf("calls %q, want %q", got, c.calls)
			}
			if _, err := os.Stat(dir + "/ran"); (err == nil) != (c.want == "") {
				t.Errorf("the program ran: %v", err)
			}
			if _, err := os.Stat(run); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the run's folder is left: %v", err)
			}
		})
	}
}

// esc/NW-19: where the start itself shows that there are no namespaces, the service that has
// begun ends, and nothing runs on the host's network instead.
func TestAutoDoesNotFallBackFromAServedNetwork(t *testing.T) {
	needs.Userns(t)
	if !needs.InChild(t) {
		return
	}
	dir := checkout(t, "f: x")
	p, f := lookInside(t, dir, inProxyMode)
	a := &answering{ran: dir + "/ran"}
	f.Proxy, f.Untried, f.Refused = &Proxy{Serve: a.serve}, true, nil
	f.Command, f.File, f.FileErr, f.Terminal = []string{"sh", "-c", "touch ran"}, "/bin/sh", nil, false
	plan := NewPlan(p, f)
	if plan.Refusal != nil || plan.Isolation != "namespaces" {
		t.Fatalf("%s: %+v", plan.Isolation, plan.Refusal)
	}
	noUserns(t)
	res, err := plan.Run(f, Options{Stdio: [3]int{0, 2, 2}})
	var r *Refusal
	if res != nil || !errors.As(err, &r) || r.Clause != "hosts" || !strings.Contains(r.Message, "not offered here (namespaces: EPERM") {
		t.Errorf("%+v, %v", res, err)
	}
	if !slices.Equal(a.calls, []string{"serve", "stop"}) {
		t.Errorf("calls %q", a.calls)
	}
	if _, err := os.Stat(dir + "/ran"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the program ran: %v", err)
	}
}

// A Host has another process start the program, which cannot hand anything back.
func TestAHostServesNoNetwork(t *testing.T) {
	a := &answering{}
	plan, f := insidePlan(t, reaching(), bare+proxyMode)
	f.Proxy.Serve = a.serve
	_, err := new(Host).Start(plan, f, Options{})
	var r *Refusal
	if !errors.As(err, &r) || r.Status != StatusRefused || r.Clause != "hosts" || r.Hint == "" || len(a.calls) > 0 {
		t.Errorf("%v, calls %q", err, a.calls)
	}
	// Nor does anybody begin where a check made the facts.
	f.Proxy.Serve = nil
	if _, err := plan.Run(f, Options{Stdio: [3]int{0, 2, 2}}); !errors.As(err, &r) || !strings.Contains(r.Message, "nobody serves") {
		t.Errorf("%v", err)
	}
}
