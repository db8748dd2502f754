package spawn

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// victimEnv makes the test binary the program in the room. It prints "name answer" lines.
const victimEnv = "SPAWN_TEST_VICTIM"

// victim is a start of the test binary in the room.
func (r *room) victim(what string, args ...string) *Request {
	r.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	if !r.has("/victim") {
		r.bind(exe, Mount{Path: "/victim", Exec: true})
	}
	q := r.request("")
	q.Path, q.Argv = "/victim", append([]string{"victim"}, args...)
	q.Env = []string{victimEnv + "=" + what, "PATH=/usr/bin:/bin"}
	return q
}

func victim(what string) int {
	switch what {
	case "privileges":
		privileges(os.Args[1])
	case "network":
		network()
	case "attack":
		attack()
	case "target": // of the controls of attack
		fmt.Printf("%d\n", uintptr(unsafe.Pointer(&secret)))
		_, _ = os.Stdin.Read(make([]byte, 1))
	default:
		return 99
	}
	return 0
}

// answer prints what a call answered.
func answer(name string, err error) {
	var e syscall.Errno
	switch {
	case err == nil:
		fmt.Println(name, "ok")
	case errors.As(err, &e):
		fmt.Println(name, unix.ErrnoName(e))
	default:
		fmt.Println(name, err)
	}
}

func raw(nr uintptr, a ...uintptr) error {
	var b [6]uintptr
	copy(b[:], a)
	if _, _, e := unix.Syscall6(nr, b[0], b[1], b[2], b[3], b[4], b[5]); e != 0 {
		return e
	}
	return nil
}

func privileges(w string) {
	answer("mount", unix.Mount("tmpfs", w, "tmpfs", 0, ""))
	answer("remount", unix.Mount("", "/usr", "", unix.MS_BIND|unix.MS_REMOUNT, ""))
	answer("umount", unix.Unmount("/proc", unix.MNT_DETACH))
	answer("pivot_root", unix.PivotRoot(w, w))
	answer("chroot", unix.Chroot(w))
	_, err := unix.OpenTree(unix.AT_FDCWD, "/usr", unix.OPEN_TREE_CLONE)
	answer("open_tree", err)
	answer("mount_setattr", unix.MountSetattr(unix.AT_FDCWD, "/usr", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}))
	answer("move_mount", unix.MoveMount(unix.AT_FDCWD, "/proc", unix.AT_FDCWD, w, 0))
	_, err = unix.Fsopen("tmpfs", 0)
	answer("fsopen", err)
	answer("unshare_mnt", raw(unix.SYS_UNSHARE, unix.CLONE_NEWNS))
	answer("unshare_pid", raw(unix.SYS_UNSHARE, unix.CLONE_NEWPID))
	answer("unshare_net", raw(unix.SYS_UNSHARE, unix.CLONE_NEWNET))
	answer("unshare_user", userns())
	answer("unshare_nothing", raw(unix.SYS_UNSHARE, 0))
	fd, err := unix.Open("/proc/self/ns/uts", unix.O_RDONLY, 0)
	if err == nil {
		err = unix.Setns(fd, 0)
	}
	answer("setns", err)
	answer("sethostname", unix.Sethostname([]byte("x")))
	answer("setuid", raw(unix.SYS_SETRESUID, 12345, 12345, 12345))
	answer("mknod", unix.Mknod(w+"/null", unix.S_IFCHR|0o666, 1<<8|3))
	answer("write_in_w", os.WriteFile(w+"/x", nil, 0o600))
	answer("write_ro", os.Mkdir("/usr/brainbox-test", 0o700))
	answer("write_root", os.Mkdir("/brainbox-test", 0o700))
}

// userns makes a process in a user namespace.
func userns() error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	return cmd.Run()
}

// network connects to a listener of its own, and to an address that is nobody's.
func network() {
	var names []string
	list, err := net.Interfaces()
	for _, i := range list {
		names = append(names, i.Name)
	}
	answer("interfaces_err", err)
	fmt.Println("interfaces", strings.Join(names, ","))
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		err = unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = unix.Listen(l, 1)
	}
	if err != nil {
		answer("connect", err)
		return
	}
	at, err := unix.Getsockname(l)
	if err == nil {
		err = connect(at)
	}
	answer("connect", err)
	answer("outside", connect(&unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 1}, Port: 9})) // RFC 5737
}

func connect(at unix.Sockaddr) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err = unix.Connect(fd, at); errors.Is(err, unix.EINPROGRESS) {
		return nil // it found a way; whether somebody is there does not matter
	}
	return err
}

var secret = [8]byte{'s', '3', 'c', 'r', 'e', 't'}

// attack tries on pid 1 what works on any other process of the same user, and shows that
// it does.
func attack() {
	runtime.LockOSThread() // ptrace(2) is a thread's
	control := exec.Command("/victim")
	control.Env = []string{victimEnv + "=target"}
	stdin, err := control.StdinPipe()
	if err != nil {
		answer("control", err)
		return
	}
	defer stdin.Close()
	out, err := control.StdoutPipe()
	if err == nil {
		err = control.Start()
	}
	var at uintptr
	if err == nil {
		_, err = fmt.Fscan(out, &at)
	}
	answer("control", err)
	attackOne("other", control.Process.Pid, at)
	attackOne("init", 1, at)
	_ = control.Process.Kill()
	_ = control.Wait()
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGSTOP, unix.SIGTERM, unix.SIGSEGV, unix.SIGCHLD, unix.SIGHUP, 34} {
		answer("kill", unix.Kill(1, sig))
		answer("tgkill", unix.Tgkill(1, 1, sig))
	}
	answer("kill_all", unix.Kill(-1, unix.SIGURG))
	if fd, err := unix.PidfdOpen(1, 0); err == nil {
		answer("pidfd_kill", unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0))
	}
	answer("sigio", sigio())
	fmt.Println("state", initState1())
}

// initState1 is the State line of pid 1.
func initState1() string {
	text, err := os.ReadFile("/proc/1/status")
	if err != nil {
		return err.Error()
	}
	_, rest, _ := strings.Cut(string(text), "State:")
	return strings.TrimSpace(rest[:strings.IndexByte(rest, '\n')])
}

// sigio makes the kernel send SIGKILL to pid 1 for news on a pipe.
func sigio() error {
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return err
	}
	for _, c := range [][2]int{{unix.F_SETOWN, 1}, {unix.F_SETSIG, int(unix.SIGKILL)}, {unix.F_SETFL, unix.O_ASYNC}} {
		if _, err := unix.FcntlInt(uintptr(p[0]), c[0], c[1]); err != nil {
			return err
		}
	}
	_, err := unix.Write(p[1], []byte{1})
	return err
}

// anyFD is the best answer for any descriptor number.
func anyFD(try func(fd string) error) error {
	best := error(unix.ENOENT)
	for fd := range 64 {
		if err := try(strconv.Itoa(fd)); err == nil || errors.Is(best, unix.ENOENT) {
			best = err
		}
		if best == nil {
			break
		}
	}
	return best
}

func attackOne(who string, pid int, at uintptr) {
	say := func(name string, err error) { answer(who+"_"+name, err) }
	dir := fmt.Sprintf("/proc/%d/", pid)
	for _, name := range []string{"environ", "maps", "auxv", "io", "syscall", "exe"} {
		f, err := os.Open(dir + name)
		if err == nil {
			_, err = f.Read(make([]byte, 1))
		}
		_ = f.Close()
		say(name, err)
	}
	for _, name := range []string{"mem", "root/", "cwd/", "map_files"} {
		f, err := os.Open(dir + name)
		if err == nil && name == "map_files" {
			_, err = f.Readdirnames(1)
		}
		_ = f.Close()
		say(name, err)
	}
	for _, name := range []string{"exe", "cwd", "root", "ns/mnt"} {
		_, err := os.Readlink(dir + name)
		say("link_"+name, err)
	}
	say("fd", anyFD(func(fd string) error { _, err := os.Readlink(dir + "fd/" + fd); return err }))
	say("fdinfo", anyFD(func(fd string) error { _, err := os.ReadFile(dir + "fdinfo/" + fd); return err }))
	cmdline, err := os.ReadFile(dir + "cmdline")
	say("cmdline", err)
	fmt.Printf("%s_arguments %q\n", who, strings.Trim(string(cmdline), "\x00"))

	buf := make([]byte, 8)
	local := []unix.Iovec{{Base: &buf[0], Len: 8}}
	remote := []unix.RemoteIovec{{Base: at, Len: 8}}
	_, err = unix.ProcessVMReadv(pid, local, remote, 0)
	say("process_vm_readv", err)
	_, err = unix.ProcessVMWritev(pid, local, remote, 0)
	say("process_vm_writev", err)
	pidfd, err := unix.PidfdOpen(pid, 0)
	say("pidfd_open", err)
	_, err = unix.PidfdGetfd(pidfd, 0, 0)
	say("pidfd_getfd", err)
	say("kcmp", raw(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(pid), 0, 0, 0))
	var head, size uintptr
	say("get_robust_list", raw(unix.SYS_GET_ROBUST_LIST, uintptr(pid), uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&size))))
	say("move_pages", raw(unix.SYS_MOVE_PAGES, uintptr(pid), 0, 0, 0, 0, 0))
	for name, how := range map[string]uintptr{"seize": unix.PTRACE_SEIZE, "attach": unix.PTRACE_ATTACH} {
		err := raw(unix.SYS_PTRACE, how, uintptr(pid), 0, 0)
		say(name, err)
		if err == nil {
			_ = unix.PtraceInterrupt(pid)
			_, _ = unix.Wait4(pid, nil, 0, nil)
			_ = unix.PtraceDetach(pid)
		}
	}
	lim := unix.Rlimit{Cur: 512, Max: 512}
	say("prlimit", unix.Prlimit(pid, unix.RLIMIT_NOFILE, &lim, nil))
	say("setpriority", unix.Setpriority(unix.PRIO_PROCESS, pid, 10))
	param := [2]uint32{}
	say("sched_setscheduler", raw(unix.SYS_SCHED_SETSCHEDULER, uintptr(pid), 5, uintptr(unsafe.Pointer(&param)))) // SCHED_IDLE
	say("oom", os.WriteFile(dir+"oom_score_adj", []byte("1000"), 0))
}
