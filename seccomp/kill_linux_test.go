package seccomp

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// killVar names the call that a child of TestForeignCallsKillTheProcess makes.
const killVar = "BRAINBOX_TEST_SECCOMP_KILL"

// crashed is how the Go runtime ends a program after a fault.
const crashed = 2

// TestMain makes the calls that end the process before package testing starts:
// its own output must not decide what the parent sees.
func TestMain(m *testing.M) {
	what := os.Getenv(killVar)
	if what == "" {
		os.Exit(m.Run())
	}
	os.Exit(foreignCall(what, os.Getenv(killVar+"_FILTER") != ""))
}

// foreignCall returns 0 if the call came back with a value and 1 with ENOSYS.
func foreignCall(what string, filtered bool) int {
	// SC-14: a handler may not turn the end of the process into an event.
	signal.Notify(make(chan os.Signal, 1), unix.SIGSYS)
	if filtered {
		p, err := Default(Options{})
		if err == nil {
			err = setFilter(p, unix.SECCOMP_FILTER_FLAG_TSYNC)
		}
		if err != nil {
			return 3
		}
	}
	switch what {
	case "int80":
		if int(int80()) == os.Getpid() {
			return 0
		}
		return 1
	case "arm":
		return arm()
	}
	_, _, e := unix.RawSyscall(unix.SYS_GETPID|x32Bit, 0, 0, 0)
	if e == 0 {
		return 0
	}
	return 1
}

// int80 enters the kernel by the i386 gate with the number of getpid there.
func int80() uint32 {
	code := []byte{
		0xb8, 20, 0, 0, 0, // mov eax, 20
		0xcd, 0x80, // int 0x80
		0xc3, // ret
	}
	mem, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC,
		unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return 0
	}
	copy(mem, code)
	entry := &mem[0]
	call := *(*func() uint32)(unsafe.Pointer(&struct{ f **byte }{&entry}))
	return call()
}

// arm becomes a 32-bit program whose only call is exit(0). It returns if the kernel runs none.
func arm() int {
	const base, head, code = 0x10000, 52, 52 + 32                                            // one segment, aligned for pages of any size
	elf := []byte("\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x28\x00") // an ARM program
	for _, w := range []uint32{1, base + code, head, 0, 0x05000000, 32<<16 | head, 1, 0} {
		elf = binary.LittleEndian.AppendUint32(elf, w)
	}
	for _, w := range []uint32{1, 0, base, base, code + 12, code + 12, 5, 0x10000} {
		elf = binary.LittleEndian.AppendUint32(elf, w)
	}
	for _, w := range []uint32{0xe3a00000, 0xe3a07001, 0xef000000} { // mov r0, #0; mov r7, #1; svc #0
		elf = binary.LittleEndian.AppendUint32(elf, w)
	}
	fd, err := unix.MemfdCreate("arm", 0)
	if err == nil {
		_, err = unix.Write(fd, elf)
	}
	if err != nil {
		return 3
	}
	_ = unix.Exec("/proc/self/fd/"+strconv.Itoa(fd), []string{"arm"}, nil)
	return crashed
}

func TestForeignCallsKillTheProcess(t *testing.T) {
	needs.Seccomp(t)
	type foreign struct {
		id, what string
		free     int // 0: the call works, 1: it may be ENOSYS
	}
	tests := map[string][]foreign{
		"amd64": {{"esc/SC-01", "int80", 0}, {"esc/SC-02", "x32", 1}},
		"arm64": {{"esc/SC-01", "arm", 0}},
	}[runtime.GOARCH]
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			switch free := runForeign(t, tt.what, ""); {
			case free.ExitStatus() == crashed:
				t.Skip("the kernel has no such entry: the 32-bit one is off") // gating: needs has no word for it
			case !free.Exited() || free.ExitStatus() > tt.free:
				t.Fatalf("without a filter: status %#x, want exit %d at most", uint32(free), tt.free)
			}
			state := runForeign(t, tt.what, "1")
			if !state.Signaled() || state.Signal() != unix.SIGSYS {
				t.Errorf("status = %#x, want the process ended by SIGSYS", uint32(state))
			}
		})
	}
}

func runForeign(t *testing.T, what, filter string) syscall.WaitStatus {
	t.Helper()
	// A process of which only one thread is killed would hang.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), killVar+"="+what, killVar+"_FILTER="+filter)
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	state := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ctx.Err() != nil || state.ExitStatus() == 3 {
		t.Fatalf("the child hung or could not load its filter: status %#x", uint32(state))
	}
	return state
}
