package broker

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// userfaultfd(2), linux/userfaultfd.h.
const (
	uffdioAPI      = 0xc018aa3f
	uffdioRegister = 0xc020aa00
	uffdioZeropage = 0xc020aa04
	uffdAPI        = 0xaa
	uffdMissing    = 1
)

// fault has a page that is not there until somebody says so, or nobody does for a while, as
// one of a file in a file system that hangs.
func fault() {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	u, _, e := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC, 0, 0)
	at := uint64(uintptr(unsafe.Pointer(&page[0])))
	ioctl := func(what uintptr, arg [4]uint64) {
		if e == 0 {
			_, _, e = unix.Syscall(unix.SYS_IOCTL, u, what, uintptr(unsafe.Pointer(&arg)))
		}
	}
	ioctl(uffdioAPI, [4]uint64{uffdAPI})
	ioctl(uffdioRegister, [4]uint64{at, uint64(len(page)), uffdMissing})
	if err != nil || e != 0 {
		fmt.Println("no userfaultfd:", err, e)
		return
	}
	fmt.Println(at)
	var event [32]byte
	_, _ = unix.Read(int(u), event[:])
	fmt.Println("waits")
	said := -1
	for said < 0 { // below 0: a signal of the runtime's
		said, _ = unix.Poll([]unix.PollFd{{Fd: 0, Events: unix.POLLIN}}, 60_000)
	}
	ioctl(uffdioZeropage, [4]uint64{at, uint64(len(page))})
	fmt.Println("asked:", said == 1)
}

// A program's memory may lie in a file system that hangs: the thread that reads it waits,
// and this process goes on, even if it has no processor but that thread's.
func TestMemoryThatHangsHoldsUpNobody(t *testing.T) {
	needs.Root(t) // else the kernel gives nobody such memory
	t.Cleanup(func() { runtime.GOMAXPROCS(runtime.NumCPU()) })
	runtime.GOMAXPROCS(1)
	cmd := exec.Command(executable(t))
	cmd.Env = []string{victimEnv + "=fault"}
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	p := &program{t: t, in: in, out: bufio.NewReader(out)}
	var at uint64
	if text := p.line(); !strings.HasPrefix(text, "no") {
		_, err = fmt.Sscan(text, &at)
		must(t, err)
	} else {
		t.Skipf("needs: %s", text) // gating: a kernel without userfaultfd(2)
	}
	done := make(chan error)
	go func() { done <- copyMemory(cmd.Process.Pid, at, make([]byte, 16)) }()
	if got := p.line(); got != "waits" {
		t.Fatal(got)
	}
	_, _ = io.WriteString(in, "go on\n")
	if got := p.line(); got != "asked: true" {
		t.Errorf("%s: this process stood still while its thread waited", got)
	}
	must(t, <-done)
	must(t, cmd.Wait())
}
