package spawn

import (
	"os"
	"runtime"
	_ "unsafe" // for go:linkname

	"golang.org/x/sys/unix"
)

// beforeExec keeps the runtime from making threads: one that is made while execve(2)
// ends the others would fail and take the process down (go.dev/issue/19546).
//
//go:linkname beforeExec syscall.runtime_BeforeExec
func beforeExec()

//go:linkname afterExec syscall.runtime_AfterExec
func afterExec()

// Become turns the calling process into the program. Irreversible: on success it does
// not return, and after a failure the calling thread may already be confined, so the
// caller may only report the error and exit.
//
// execve(2) keeps the credentials, the Landlock domain and the filter of the calling
// thread and ends all others, so none of them can outlive the start unconfined.
// Session, DieWithParent, Cgroup, Namespaces and Listener are refused: there is no parent here.
func Become(r *Request) error {
	if err := r.check(); err != nil {
		return err
	}
	if r.Session || r.DieWithParent || r.Cgroup > 0 || r.Namespaces != nil || r.Listener {
		return &Error{Step: StepPrepare, Call: "become", Errno: unix.EINVAL}
	}
	j := newJob()
	mv := &mover{above: r.highest()}
	if err := mv.moveAll(r); err != nil {
		return err
	}
	if err := j.build(r, mv.to, 0); err != nil {
		return err
	}
	r.injected().into(&j.calls)

	runtime.LockOSThread()
	beforeExec()
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, nil); err != nil {
		return os.NewSyscallError("rt_sigprocmask", err)
	}
	at, errno := walk(j.calls)
	afterExec()
	runtime.KeepAlive(r)
	return &Error{Step: j.calls[at].step, Call: j.calls[at].name, Errno: errno}
}
