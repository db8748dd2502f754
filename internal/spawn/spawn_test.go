package spawn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

func TestMain(m *testing.M) {
	if os.Getenv("SPAWN_TEST_BECOME") != "" {
		becomeChild()
	}
	if where := os.Getenv(doomedEnv); where != "" {
		os.Exit(doomed(where))
	}
	if what := os.Getenv(victimEnv); what != "" {
		os.Exit(victim(what))
	}
	os.Exit(m.Run())
}

// allowAll is a filter that refuses nothing: the tests here are about the start.
func allowAll() []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
}

// ruleset handles reading and writing of files and allows it below dirs only.
func ruleset(t testing.TB, dirs ...string) int {
	t.Helper()
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE}
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), 8, 0) // the first field only: any ABI
	if e != 0 {
		t.Fatalf("landlock_create_ruleset: %v", e)
	}
	for _, dir := range dirs {
		d, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
		if dir == "/lib64" && errors.Is(err, unix.ENOENT) {
			continue // Debian has none on arm64
		}
		if err != nil {
			t.Fatal(err)
		}
		rule := unix.LandlockPathBeneathAttr{Allowed_access: attr.Handled_access_fs, Parent_fd: int32(d)}
		_, _, e = unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, fd, unix.LANDLOCK_RULE_PATH_BENEATH,
			uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
		unix.Close(d)
		if e != 0 {
			t.Fatalf("landlock_add_rule: %v", e)
		}
	}
	t.Cleanup(func() { unix.Close(int(fd)) })
	return int(fd)
}

// request is a start of /bin/sh -c script that may read the system and write W.
func request(t testing.TB, w, script string) *Request {
	t.Helper()
	return &Request{
		Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"},
		Ruleset: ruleset(t, "/usr", "/lib", "/lib64", "/bin", "/dev", "/proc", w), Filter: allowAll(),
		Stdio: [3]int{0, 1, 2}, Umask: 0o022, DieWithParent: true,
	}
}

// wait returns the exit status of c.
func wait(t testing.TB, c *Child) unix.WaitStatus {
	t.Helper()
	defer unix.Close(c.PidFD)
	var ws unix.WaitStatus
	for {
		if _, err := unix.Wait4(c.PID, &ws, 0, nil); !errors.Is(err, unix.EINTR) {
			if err != nil {
				t.Fatal(err)
			}
			return ws
		}
	}
}

func start(t testing.TB, r *Request) *Child {
	t.Helper()
	runtime.LockOSThread() // the death signal follows the thread
	t.Cleanup(runtime.UnlockOSThread)
	c, err := Start(r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestStartConfines(t *testing.T) {
	needs.LandlockABI(t, 1)
	w, out := t.TempDir(), t.TempDir()
	secret := filepath.Join(out, "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o644); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`cat %[2]s/secret >%[1]s/got 2>/dev/null; echo $? >%[1]s/rc
echo hi >%[1]s/ok; cat /proc/self/status >%[1]s/status; umask >%[1]s/umask; exit 7`, w, out)
	ws := wait(t, start(t, request(t, w, script+" 2>/dev/null")))
	if ws.ExitStatus() != 7 {
		t.Errorf("exit status %d, want 7", ws.ExitStatus())
	}
	if got := read(t, w+"/got"); got != "" {
		t.Errorf("the child read %q outside its grants", got)
	}
	if got := read(t, w+"/ok"); got != "hi\n" { // positive control
		t.Errorf("inside the grant: %q, want %q", got, "hi\n")
	}
	status := read(t, w+"/status")
	for _, want := range []string{"NoNewPrivs:\t1\n", "Seccomp:\t2\n", "CapEff:\t0000000000000000\n", "SigIgn:\t0000000000000000\n", "SigBlk:\t0000000000000000\n"} {
		if !strings.Contains(status, want) {
			t.Errorf("/proc/self/status lacks %q in\n%s", want, status)
		}
	}
	if got := read(t, w+"/umask"); got != "0022\n" {
		t.Errorf("umask %q", got)
	}
	// The caller stayed free.
	if got := read(t, secret); got != "s3cret" {
		t.Errorf("after the start the caller reads %q", got)
	}
	if s := read(t, "/proc/thread-self/status"); !strings.Contains(s, "NoNewPrivs:\t0\n") || strings.Contains(s, "Seccomp:\t2") {
		t.Errorf("the caller's thread was confined:\n%s", s)
	}
}

func TestDescriptors(t *testing.T) {
	needs.Kernel(t)
	w := t.TempDir()
	leak, err := unix.FcntlInt(0, unix.F_DUPFD, 1500) // above 1024, not close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	f, err := os.Open("/etc/hostname")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := request(t, w, "ls /proc/self/fd >"+w+"/fds; cat <&5 >"+w+"/five")
	r.Pass = []Pass{{From: int(f.Fd()), To: 5}}
	wait(t, start(t, r))
	if got, want := strings.Fields(read(t, w+"/fds")), []string{"0", "1", "2", "3", "5"}; !cmp.Equal(got, want) {
		t.Errorf("descriptors of ls: %v, want %v (3 is its own)", got, want)
	}
	if got, want := read(t, w+"/five"), read(t, "/etc/hostname"); got != want {
		t.Errorf("passed descriptor gave %q, want %q", got, want)
	}
}

func TestEveryStepCanFail(t *testing.T) {
	needs.LandlockABI(t, 1)
	for _, step := range Steps() {
		t.Run(step.String(), func(t *testing.T) {
			w := t.TempDir()
			r := request(t, w, "echo ran >"+w+"/ran")
			r.Session, r.Dir = true, dirFD(t, w)
			r.Limits = []Limit{{Resource: unix.RLIMIT_CORE}}
			if r.Bounding = os.Geteuid() == 0; r.Bounding {
				r.Identity = &Identity{}
			} else if step == StepIdentity {
				return // an ordinary user has no such step
			}
			r.Probes = []Probe{{Name: "open", Nr: unix.SYS_OPENAT, Path: "/etc/passwd", PathArg: 1, Errnos: []syscall.Errno{unix.EACCES}}}
			injected := Inject(*r, step)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			c, err := Start(&injected)
			var e *Error
			if !errors.As(err, &e) || e.Step != step || e.Errno != unix.ENOSYS {
				t.Errorf("Start = %v, %v; want step %v, ENOSYS", c, err, step)
			}
			if _, err := os.Stat(w + "/ran"); err == nil {
				t.Error("the program ran")
			}
			if _, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
				t.Errorf("a child is left: %v", err)
			}
		})
	}
	w := t.TempDir()
	wait(t, start(t, request(t, w, "echo ran >"+w+"/ran"))) // positive control
	read(t, w+"/ran")
}

func dirFD(t testing.TB, dir string) int {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func TestSelfTestCatchesWhatIsNotRefused(t *testing.T) {
	needs.LandlockABI(t, 1)
	w := t.TempDir()
	r := request(t, w, "echo ran >"+w+"/ran")
	r.Probes = []Probe{{Name: "open of a granted file", Nr: unix.SYS_OPENAT, Path: "/bin/sh", PathArg: 1, Errnos: []syscall.Errno{unix.EACCES}}}
	_, err := Start(r)
	var e *Error
	if !errors.As(err, &e) || e.Step != StepSelfTest || e.Errno != 0 {
		t.Fatalf("Start: %v, want a failed self-test", err)
	}
	if _, err := os.Stat(w + "/ran"); err == nil {
		t.Error("the program ran all the same")
	}
}

func TestRefusesWhatLooksConfined(t *testing.T) {
	good := Request{Path: "/bin/true", Argv: []string{"true"}, Ruleset: 5, Filter: allowAll()}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Request){
		"no ruleset":                func(r *Request) { r.Ruleset = 0 },
		"no filter":                 func(r *Request) { r.Filter = nil },
		"a relative program":        func(r *Request) { r.Path = "true" },
		"no argv":                   func(r *Request) { r.Argv = nil },
		"standard output passed":    func(r *Request) { r.Pass = []Pass{{From: 3, To: 1}} },
		"a number passed twice":     func(r *Request) { r.Pass = []Pass{{From: 3, To: 4}, {From: 5, To: 4}} },
		"a filter that is too long": func(r *Request) { r.Filter = make([]unix.SockFilter, 5000) },
	} {
		r := good
		if change(&r); r.check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// becomeChild is the other side of TestBecome.
func becomeChild() {
	r := &Request{
		Path: "/bin/sh", Argv: []string{"sh", "-c", "echo $$; cat /etc/passwd; exit 9"}, Env: []string{"PATH=/bin:/usr/bin"},
		Ruleset: ruleset(&testing.T{}, "/usr", "/lib", "/lib64", "/bin", "/dev"), Filter: allowAll(), Stdio: [3]int{0, 1, 2}, Umask: 0o22,
	}
	fmt.Println(os.Getpid())
	fmt.Fprintln(os.Stderr, Become(r))
	os.Exit(99)
}

func TestBecome(t *testing.T) {
	needs.Kernel(t)
	cmd := &Request{
		Path: "/proc/self/exe", Argv: []string{"spawn.test"}, Env: []string{"SPAWN_TEST_BECOME=1"}, Unconfined: true,
		Stdio: [3]int{0, 1, 1}, Umask: 0o22,
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path = exe
	out, err := os.OpenFile(filepath.Join(t.TempDir(), "out"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdio[1], cmd.Stdio[2] = int(out.Fd()), int(out.Fd())
	ws := wait(t, start(t, cmd))
	lines := strings.Split(read(t, out.Name()), "\n")
	if ws.ExitStatus() != 9 || len(lines) < 3 || lines[0] != lines[1] || !strings.Contains(lines[2], "Permission denied") {
		t.Errorf("status %d, output %q; want 9, the same pid twice and a refusal", ws.ExitStatus(), lines)
	}
}
