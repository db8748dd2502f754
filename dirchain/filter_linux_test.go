package dirchain

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// filtered are the calls that an outer filter may refuse here.
var filtered = map[string]uint32{"openat2": unix.SYS_OPENAT2, "statx": unix.SYS_STATX}

// installFilter answers calls with an errno in every thread of this process:
// "openat2:38 statx:1".
func installFilter(spec string) error {
	if spec == "" {
		return nil
	}
	// Both calls act on this thread, and the second one on all.
	runtime.LockOSThread()
	prog := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // seccomp_data.nr
	for _, word := range strings.Fields(spec) {
		name, no, _ := strings.Cut(word, ":")
		var errno uint32
		if _, err := fmt.Sscan(no, &errno); err != nil || filtered[name] == 0 {
			return fmt.Errorf("filter %q: %w", word, err)
		}
		prog = append(prog,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: filtered[name], Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | errno})
	}
	prog = append(prog, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&fprog)))
	if no != 0 {
		return no
	}
	return nil
}

// The older walk begins where there is no openat2, or a filter says so, and is
// not weaker; statx is replaced by calls of the same strength.
func TestFilteredCalls(t *testing.T) {
	needs.Seccomp(t)
	for _, filter := range []string{
		"openat2:38", "openat2:1", "statx:38", "statx:1", "openat2:38 statx:38", "openat2:1 statx:1",
	} {
		t.Run("esc/DC-20 "+filter, func(t *testing.T) {
			g := newGround(t)
			for path, to := range map[string]string{"l": g.to("f"), "g/d": g.to("g/p"), "n": g.to("new")} {
				symlink(t, to, g.in(path))
			}
			o := watch(t, g.out)
			for _, path := range []string{"l", "n", "g/d/f", "g/d/new", "g/d/x/y", "../outside/f", g.to("f")} {
				for _, kind := range []string{"write", "read", "edit"} {
					got := inChild(t, attack{Root: g.root, Filter: filter, Op: op{
						Kind: kind, Path: path, Mode: CreateOrReplace, Content: "x", Old: "secret", Parents: true,
					}})
					if !got.is("ErrLink") && !got.is("ErrNotDirectory") && !got.is("ErrPath") {
						t.Errorf("%s %s: %+v", kind, path, got)
					}
				}
			}
			o.untouched(t)
			got := inChild(t, attack{Root: g.root, Filter: filter, Op: op{Path: target, Mode: Replace, Content: "new"}})
			if got.Err != "" || read(t, g.in(target)) != "new" {
				t.Errorf("control: %+v", got)
			}
			if strings.Contains(filter, "openat2") == strings.Contains(strings.Join(got.Calls, " "), "openat2") {
				t.Errorf("calls: %v", got.Calls)
			}
		})
	}
}
