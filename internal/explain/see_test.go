package explain

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/internal/notify"
	"brainbox/launcher"
	"brainbox/seccomp"
)

const create = unix.O_CREAT | unix.O_WRONLY

// Each call becomes the operations that the kernel makes of it: what is refused is told once,
// with the resolved name, and what would fail anyway is not.
func TestSee(t *testing.T) {
	dir := realTemp(t)
	put(t, dir, "in/", "out/", "out/d/", "out/e/", "out/f", "in/f", "out/s|", "in/p|",
		"in/l -> ../out/f", "in/dangling -> ../out/none",
		"in/dir -> ../out", "out/loop -> loop", "in/abs -> "+dir+"/out/f", "out/back -> ../in")
	t.Chdir(dir + "/in")
	if err := os.Chmod(dir+"/out/f", 0o755); err != nil {
		t.Fatal(err)
	}
	w := newWatch(t, Config{Judge: grants{below: []string{dir + "/in"}}})
	in, err := unix.Open(dir+"/in", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(in)
	cwd := unix.AT_FDCWD
	for _, tc := range []struct {
		want string
		call string
		args []any
	}{
		{"read out/f regular refused", "open", []any{dir + "/out/f", 0}},
		{"read out/f regular refused", "openat", []any{cwd, "../out/f", 0}},
		{"read out/f regular refused", "openat", []any{in, "../out/./f", 0}},
		{"read out/f regular refused", "openat", []any{in, "l", 0}},
		{"read out/f regular refused", "openat", []any{in, "abs", 0}},
		{"read out/f regular refused", "openat", []any{in, "dir/f", 0}},
		{"read out folder refused", "openat", []any{in, "..//out/", unix.O_DIRECTORY}},
		{"read out folder refused", "openat", []any{in, "dir", 0}},
		{"read out/s fifo refused", "openat", []any{cwd, dir + "/out/s", 0}},
		{"write out/f regular refused", "openat", []any{cwd, dir + "/out/f", unix.O_RDWR}},
		{"write out/f regular refused", "openat", []any{cwd, dir + "/out/f", create}},
		{"truncate out/f regular refused", "openat", []any{cwd, dir + "/out/f", unix.O_TRUNC}},
		{"create out/n regular refused", "openat", []any{cwd, dir + "/out/n", create}},
		{"create out/n regular refused", "creat", []any{dir + "/out/n", 0o644}},
		{"create out/n regular refused", "openat", []any{in, "dir/n", create | unix.O_EXCL}},
		{"create out/none regular refused", "openat", []any{in, "dangling", create}},
		{"write out/d regular refused", "openat", []any{cwd, dir + "/out/d", unix.O_TMPFILE | unix.O_RDWR}},
		{"read out/f regular refused", "openat2", []any{in, "l", make([]byte, 24), 24}},
		{"create out/n folder refused", "mkdir", []any{dir + "/out/n", 0}},
		{"create out/n folder refused", "mkdirat", []any{in, "../out/n/", 0}},
		{"create out/n link refused", "symlink", []any{"f", dir + "/out/n"}},
		{"create out/n link refused", "symlinkat", []any{"f", in, "../out/n"}},
		{"create out/n regular refused", "mknod", []any{dir + "/out/n", 0o644, 0}},
		{"create out/n fifo refused", "mknodat", []any{cwd, dir + "/out/n", unix.S_IFIFO, 0}},
		{"create out/n socket refused", "mknodat", []any{cwd, dir + "/out/n", unix.S_IFSOCK, 0}},
		{"create out/n char refused", "mknodat", []any{cwd, dir + "/out/n", unix.S_IFCHR, 0}},
		{"remove out/f regular refused", "unlink", []any{dir + "/out/f"}},
		{"remove out/loop link refused", "unlinkat", []any{in, "dir/loop", 0}},
		{"remove out/d folder refused", "unlinkat", []any{in, "dir/d", unix.AT_REMOVEDIR}},
		{"remove out/d folder refused", "rmdir", []any{dir + "/out/d/"}},
		{"rename out/f out/n regular refused", "rename", []any{dir + "/out/f", dir + "/out/n"}},
		{"rename in/f out/n regular refused", "renameat", []any{in, "f", in, "dir/n"}},
		{"rename out/f in/f regular over regular refused", "renameat2", []any{in, "dir/f", in, "f", 0}},
		{"rename in/l out/d link over folder refused", "renameat2", []any{in, "l", in, "dir/d", unix.RENAME_EXCHANGE}},
		{"rename out/d out/e folder over folder refused", "renameat2", []any{in, "dir/d", in, "dir/e", 0}},
		{"link out/f in/n regular refused", "link", []any{dir + "/out/f", dir + "/in/n"}},
		{"link out/f in/n regular refused", "linkat", []any{in, "l", in, "n", unix.AT_SYMLINK_FOLLOW}},
		{"link in/f out/n regular refused", "linkat", []any{in, "f", in, "dir/n", 0}},
		{"truncate out/f regular refused", "truncate", []any{dir + "/in/l", 0}},
		{"exec out/f regular refused", "execve", []any{dir + "/out/f", 0, 0}},
		{"exec out/f regular refused", "execveat", []any{in, "l", 0, 0, 0}},

		// Allowed, or no denial.
		{"", "openat", []any{in, "f", unix.O_RDWR | unix.O_TRUNC}},
		{"", "openat", []any{in, "dir/back/f", 0}},
		{"", "openat", []any{in, "p", unix.O_RDWR}},
		{"", "openat", []any{cwd, "n", create}},
		{"", "openat", []any{cwd, dir + "/out/f", unix.O_PATH}},
		{"", "openat", []any{cwd, dir + "/out/n", 0}},
		{"", "openat", []any{cwd, dir + "/out/n/n", create}},
		{"", "openat", []any{cwd, dir + "/out/f/n", create}},
		{"", "openat", []any{cwd, dir + "/out/f/", 0}},
		{"", "openat", []any{cwd, dir + "/out/f", unix.O_DIRECTORY}},
		{"", "openat", []any{cwd, dir + "/out/loop", 0}},
		{"", "openat", []any{in, "l", unix.O_NOFOLLOW}},
		{"", "openat", []any{in, "dir/f", create | unix.O_EXCL}},
		{"", "openat", []any{in, "dangling", create | unix.O_EXCL}},
		{"", "openat", []any{in, "dir/d", unix.O_RDWR}},
		{"", "openat", []any{in, "", 0}},
		{"", "openat", []any{999, "f", 0}},
		{"", "openat", []any{cwd, uint64(8), 0}},
		{"", "mkdir", []any{dir + "/out/d", 0}},
		{"", "mkdir", []any{dir + "/in/n/", 0}},
		{"", "symlink", []any{"f", dir + "/out/n/"}},
		{"", "unlink", []any{dir + "/out/n"}},
		{"", "unlink", []any{dir + "/out/d"}},
		{"", "rmdir", []any{dir + "/out/f"}},
		{"", "rmdir", []any{dir + "/out/d/."}},
		{"", "unlink", []any{dir + "/in/l"}},
		{"", "rename", []any{dir + "/out/n", dir + "/out/m"}},
		{"", "renameat2", []any{in, "dir/f", in, "dir/d", unix.RENAME_NOREPLACE}},
		{"", "renameat2", []any{in, "dir/f", in, "dir/n", unix.RENAME_EXCHANGE}},
		{"", "rename", []any{dir + "/out/f", dir + "/out/d"}},
		{"", "rename", []any{dir + "/in/l", dir + "/in/m"}},
		{"", "link", []any{dir + "/out/d", dir + "/in/n"}},
		{"", "link", []any{dir + "/in/l", dir + "/in/n"}},
		{"", "truncate", []any{dir + "/out/d", 0}},
		{"", "execve", []any{dir + "/out/d", 0, 0}},
		{"", "execve", []any{dir + "/out/n", 0, 0}},
	} {
		if got := words(w.call(tc.call, tc.args...), dir); got != tc.want {
			t.Errorf("%s %q:\n got %q\nwant %q", tc.call, tc.args, got, tc.want)
		}
	}
}

// With Uses the sink has what is allowed, and what fails anyway with a word for that.
func TestSeeUses(t *testing.T) {
	needs.Kernel(t)
	dir := realTemp(t)
	put(t, dir, "in/", "in/f", "out/", "out/f")
	w := newWatch(t, Config{Judge: grants{below: []string{dir + "/in"}}, Uses: true})
	for want, args := range map[string][]any{
		"write in/f regular; truncate in/f regular; read in/f regular": {0, dir + "/in/f", unix.O_RDWR | unix.O_TRUNC},
		"create in/n regular; write in/n regular":                      {0, dir + "/in/n", create},
		"write out/f regular refused":                                  {0, dir + "/out/f", unix.O_RDWR},
		"read in/n moot":                                               {0, dir + "/in/n", 0},
	} {
		if got := words(w.call("openat", args...), dir); got != want {
			t.Errorf("%q:\n got %q\nwant %q", args, got, want)
		}
	}
}

// What a call looked like that waits no more is nobody's.
func TestSeeGone(t *testing.T) {
	needs.Kernel(t)
	dir := realTemp(t)
	put(t, dir, "f")
	w := newWatch(t, Config{Judge: grants{}})
	for _, gone := range []bool{false, true} {
		w.gone = gone
		if got := w.call("openat", 0, dir+"/f", 0); (len(got) == 0) != gone {
			t.Errorf("gone %v: %q", gone, words(got, dir))
		}
	}
}

// The mode of a file refuses before the plan does: that is no denial of the plan.
func TestSeeMode(t *testing.T) {
	needs.Kernel(t)
	dir := realTemp(t)
	put(t, dir, "d/", "d/f", "open", "shut")
	for name, mode := range map[string]os.FileMode{"d": 0o555, "shut": 0} {
		if err := os.Chmod(dir+"/"+name, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(dir+"/d", 0o755) })
	w := newWatch(t, Config{Judge: grants{}})
	moot := ""
	if c, ok := readCredentials(w.tid); ok && !c.has(unix.CAP_DAC_OVERRIDE) {
		moot = " moot"
	}
	for _, tc := range []struct {
		want, call string
		args       []any
	}{
		{"read shut regular" + moot + " refused", "openat", []any{0, dir + "/shut", 0}},
		{"create d/n regular" + moot + " refused", "openat", []any{0, dir + "/d/n", create}},
		{"remove d/f regular" + moot + " refused", "unlinkat", []any{0, dir + "/d/f", 0}},
		{"read open regular refused", "openat", []any{0, dir + "/open", 0}},
		{"exec open regular moot refused", "execveat", []any{0, dir + "/open", 0, 0, 0}}, // without any x not even root
	} {
		if got := words(w.call(tc.call, tc.args...), dir); got != tc.want {
			t.Errorf("%s %q:\n got %q\nwant %q", tc.call, tc.args, got, tc.want)
		}
	}
}

func TestRefuse(t *testing.T) {
	w := newWatch(t, Config{Judge: grants{}})
	for _, tc := range []struct {
		name string
		args [6]uint64
		want string
	}{
		{"socket", [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM}, "socket(AF_UNIX)"},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC}, "socket(AF_INET, SOCK_DGRAM)"},
		{"socket", [6]uint64{0xffffffff_0000004d, 77}, "socket(77, 77)"},
		{"socketpair", [6]uint64{unix.AF_UNIX, unix.SOCK_DGRAM}, "socketpair(AF_UNIX, SOCK_DGRAM)"},
		{"ptrace", [6]uint64{}, "ptrace"},
	} {
		nr, _ := seccomp.Number(runtime.GOARCH, tc.name)
		w.Refuse(&notify.Call{TID: w.tid, Nr: int(nr), Args: tc.args}, unix.EPERM)
		got := w.log.take()
		if len(got) != 1 || got[0].Call != tc.want || got[0].Op != launcher.OpSyscall || got[0].Certainty != Proven ||
			got[0].Judgement.Errno != unix.EPERM {
			t.Errorf("%s %v: %+v; want %s", tc.name, tc.args, got, tc.want)
		}
	}
}

// What only a tracer may read of another process is refused by more than the plan: it is told
// as not known. That of the program's own is not.
func TestOfAnotherProcess(t *testing.T) {
	needs.Kernel(t)
	w := newWatch(t, Config{Judge: grants{below: []string{"/proc"}}})
	cat := exec.CommandContext(t.Context(), needs.Program(t, "cat"))
	end, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = end.Close()
		_ = cat.Wait()
	}()
	other := "/proc/" + itoa(cat.Process.Pid)
	for name, want := range map[string]string{
		other + "/environ": "read " + other + "/environ regular unknown", other + "/fd": "read " + other + "/fd folder unknown",
		other + "/stat": "", "/proc/self/environ": "", "/proc/" + itoa(os.Getpid()) + "/maps": "",
	} {
		if got := words(w.call("openat", 0, name, 0), "\x00"); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	none := newWatch(t, Config{Judge: grants{}})
	if got := none.call("openat", 0, other+"/environ", 0); len(got) != 1 || got[0].Judgement.Verdict != launcher.Refused {
		t.Errorf("what the plan refuses: %q", words(got, "\x00"))
	}
}
