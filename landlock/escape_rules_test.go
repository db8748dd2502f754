package landlock

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brainbox/internal/needs"

	"golang.org/x/sys/unix"
)

// TestRenameInsideGrants is the use that the refusals must not break.
func TestRenameInsideGrants(t *testing.T) {
	root := runChild(t, 2, func(root string) {
		confine(t, Spec{Rules: rules(t, root)})
		w, also := place{root, zoneWrite}, place{root, zoneAlso}
		wantErrno(t, "rename between folders of one grant", unix.Rename(w.at("dir/f"), w.at("empty/f")), 0)
		wantErrno(t, "rename between two grants", unix.Rename(w.at("g"), also.at("moved")), 0)
		wantErrno(t, "rename a folder between two grants", unix.Rename(w.at("dir"), also.at("moved-dir")), 0)
		wantErrno(t, "link between two grants", unix.Link(w.at("f"), also.at("linked")), 0)
		// The file would become executable.
		full := place{root, zoneFull}
		wantErrno(t, "rename from write to write-execute", unix.Rename(w.at("f"), full.at("n")), unix.EXDEV)
		wantErrno(t, "rename from write-execute to write", unix.Rename(full.at("g"), w.at("n")), 0)
	})
	if root == "" {
		return
	}
	for _, name := range []string{"w/empty/f", "w2/moved", "w2/moved-dir", "w2/linked", "w/n", "wx/f"} {
		if _, err := os.Lstat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestFileRule(t *testing.T) {
	root := runChild(t, 3, func(root string) {
		out := place{root, zoneOut}
		list := append(rules(t, root),
			Rule{FD: hold(t, out.at("f")), Right: Read}, Rule{FD: hold(t, out.at("g")), Right: Write})
		confine(t, Spec{Rules: list})
		wantErrno(t, "read the sibling", open(out.at("dir/f"), unix.O_RDONLY), unix.EACCES)
		wantErrno(t, "list the folder", open(out.at(""), unix.O_RDONLY|unix.O_DIRECTORY), unix.EACCES)
		wantErrno(t, "write what may be read", open(out.at("f"), unix.O_WRONLY), unix.EACCES)
		wantErrno(t, "remove what may be written", unix.Unlink(out.at("g")), unix.EACCES)
		wantErrno(t, "rename what may be written", unix.Rename(out.at("g"), out.at("h")), unix.EACCES)
		wantErrno(t, "create beside it", open(out.at("h"), unix.O_CREAT|unix.O_WRONLY), unix.EACCES)
		wantErrno(t, "read the file", open(out.at("f"), unix.O_RDONLY), 0)
		wantErrno(t, "truncate the other", unix.Truncate(out.at("g"), 1), 0)
		wantErrno(t, "write the other", open(out.at("g"), unix.O_RDWR|unix.O_TRUNC), 0)
	})
	if root == "" {
		return
	}
	if got, err := os.ReadFile(filepath.Join(root, zoneOut, "f")); string(got) != canary {
		t.Errorf("f is %q, %v", got, err)
	}
	if got, err := os.ReadFile(filepath.Join(root, zoneOut, "g")); len(got) != 0 || err != nil {
		t.Errorf("g is %q, %v; want it truncated", got, err)
	}
}

// TestRightsOnlyAddUp shows what the package's limits say: a narrower rule
// inside a wider one takes nothing back.
func TestRightsOnlyAddUp(t *testing.T) {
	runChild(t, 1, func(root string) {
		w := place{root, zoneWrite}
		confine(t, Spec{Rules: append(rules(t, root), Rule{FD: hold(t, w.at("dir")), Dir: true, Right: Read})})
		wantErrno(t, "write below the narrower rule", open(w.at("dir/f"), unix.O_WRONLY), 0)
		wantErrno(t, "write outside", open(filepath.Join(root, zoneRead, "f"), unix.O_WRONLY), unix.EACCES)
	})
}

func TestDeviceNodes(t *testing.T) {
	t.Run("esc/FS-11 mknod in a write grant", func(t *testing.T) {
		root := runChild(t, 1, func(root string) {
			confine(t, Spec{Rules: rules(t, root)})
			for _, kind := range []uint32{unix.S_IFCHR, unix.S_IFBLK} {
				node := filepath.Join(root, zoneWrite, "node")
				wantErrno(t, "mknod", unix.Mknod(node, kind|0o600, int(unix.Mkdev(1, 3))), unix.EACCES, unix.EPERM)
			}
			wantErrno(t, "mknod of a FIFO", unix.Mknod(filepath.Join(root, zoneWrite, "ff"), unix.S_IFIFO|0o600, 0), 0)
		})
		if root != "" {
			if _, err := os.Lstat(filepath.Join(root, zoneWrite, "node")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a device node is there: %v", err)
			}
		}
	})
	t.Run("esc/FS-11 root could have made it", func(t *testing.T) {
		needs.Root(t)
		needs.LandlockABI(t, 1)
		must(t, unix.Mknod(filepath.Join(t.TempDir(), "node"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))))
	})
	t.Run("esc/FS-36 open a device without a rule", func(t *testing.T) {
		wantErrno(t, "before", open("/dev/zero", unix.O_RDONLY), 0)
		runChild(t, 1, func(root string) {
			confine(t, Spec{Rules: rules(t, root)})
			for _, path := range []string{"/dev/zero", "/dev/ptmx", "/dev/urandom"} {
				wantErrno(t, path, open(path, unix.O_RDONLY), unix.EACCES)
			}
			wantErrno(t, "/dev/null", open("/dev/null", unix.O_RDWR), 0)
		})
	})
}

// rndGetEntCnt is RNDGETENTCNT of random(4): any user may call it.
const rndGetEntCnt = 0x80045200

// fioClex is FIOCLEX of ioctl_list(2): about the descriptor, not the device.
const fioClex = 0x5451

func TestDeviceIoctl(t *testing.T) {
	entropy := func(fd int) error {
		_, err := unix.IoctlGetInt(fd, rndGetEntCnt)
		return err
	}
	openRandom := func(t *testing.T) int {
		t.Helper()
		fd, err := unix.Open("/dev/urandom", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		must(t, err)
		return fd
	}
	for name, device := range map[string]bool{"esc/FS-40 without Device": false, "with Device": true} {
		t.Run(name, func(t *testing.T) {
			runChild(t, 5, func(root string) {
				before := openRandom(t)
				list := append(rules(t, root), Rule{FD: hold(t, "/dev/urandom"), Right: Write, Device: device})
				confine(t, Spec{Rules: list})
				after := openRandom(t)
				want := unix.EACCES
				if device {
					want = 0
				}
				wantErrno(t, "ioctl on what was opened later", entropy(after), want)
				wantErrno(t, "ioctl on what was open before", entropy(before), 0)
				_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(after), fioClex, 0)
				if e != 0 {
					t.Errorf("FIOCLEX: %v, want it allowed", e)
				}
			})
		})
	}
}

// TestDeclaredOpen pins what Landlock does not refuse, so that the package's
// limits stay true. If one of these fails, the limits have become better.
func TestDeclaredOpen(t *testing.T) {
	t.Run("esc/FS-21 write by a hard link that existed before", func(t *testing.T) {
		needs.LandlockABI(t, 1)
		if needs.IsChild(t) {
			root := os.Getenv(rootMark)
			confine(t, Spec{Rules: rules(t, root)})
			wantErrno(t, "open the alias", open(filepath.Join(root, zoneWrite, "alias"), unix.O_WRONLY), 0)
			wantErrno(t, "open the name", open(filepath.Join(root, zoneRead, "f"), unix.O_WRONLY), unix.EACCES)
			return
		}
		root := t.TempDir()
		layout(t, root)
		must(t, os.Link(filepath.Join(root, zoneRead, "f"), filepath.Join(root, zoneWrite, "alias")))
		needs.RunChild(t, rootMark+"="+root)
	})
	t.Run("esc/FS-15 a rename leaves a whiteout", whiteout)
	t.Run("esc/FS-28 a shell runs a script without execute, confined", func(t *testing.T) {
		runChild(t, 1, func(root string) {
			w := place{root, zoneWrite}
			text := "cat " + w.in(zoneOut, "f") + " && exit 9\ncat " + w.in(zoneRead, "f") + "\n"
			must(t, os.WriteFile(w.at("script"), []byte(text), 0o644))
			confine(t, Spec{Rules: rules(t, root)})
			out, err := exec.Command("/bin/sh", w.at("script")).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "Permission denied") || !strings.HasSuffix(string(out), canary) {
				t.Errorf("%v: %s, want one refusal and one canary", err, out)
			}
		})
	})
	t.Run("esc/FS-29 a memfd runs, confined", func(t *testing.T) {
		runChild(t, 1, func(root string) {
			cat, err := os.ReadFile(needs.Program(t, "cat"))
			must(t, err)
			confine(t, Spec{Rules: rules(t, root)})
			fd, err := unix.MemfdCreate("cat", 0)
			must(t, err)
			file := os.NewFile(uintptr(fd), "memfd")
			_, err = file.Write(cat)
			must(t, err)
			cmd := exec.Command("/proc/self/fd/3", filepath.Join(root, zoneOut, "f"), filepath.Join(root, zoneRead, "f"))
			cmd.ExtraFiles = []*os.File{file}
			out, err := cmd.CombinedOutput()
			refused, granted := strings.Contains(string(out), "Permission denied"), strings.Contains(string(out), canary)
			if !refused || !granted {
				t.Errorf("%v: %s, want it to run, one refusal and one canary", err, out)
			}
		})
	})
}

// whiteout is esc/FS-15: the kernel asks for a rename neither for MAKE_CHAR nor, for the
// device 0:0, for CAP_MKNOD. Where erratum 4 is fixed it does not ask for MAKE_CHAR for
// mknod(2) either: a white-out is made by whom may make a file.
func whiteout(t *testing.T) {
	mknod, whiteouts := unix.EACCES, []string{"f"}
	if sup, err := Probe(); err == nil && sup.Errata&whiteoutFixed != 0 {
		mknod, whiteouts = 0, []string{"f", "m"}
	}
	root := runChild(t, 2, func(root string) {
		confine(t, Spec{Rules: rules(t, root)})
		rename := func(from, to string) error {
			return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_WHITEOUT)
		}
		ro, w := place{root, zoneRead}, place{root, zoneWrite}
		wantErrno(t, "whiteout in a read grant", rename(ro.at("f"), ro.at("n")), unix.EACCES)
		wantErrno(t, "whiteout from a read grant", rename(ro.at("f"), w.at("n")), unix.EACCES)
		wantErrno(t, "mknod of a whiteout in a read grant", unix.Mknod(ro.at("m"), unix.S_IFCHR, 0), unix.EACCES)
		wantErrno(t, "mknod of a whiteout", unix.Mknod(w.at("m"), unix.S_IFCHR, 0), mknod)
		// Another device is one, whatever is fixed; an ordinary user may make none.
		wantErrno(t, "mknod of a device", unix.Mknod(w.at("n"), unix.S_IFCHR, int(unix.Mkdev(0, 1))), unix.EACCES, unix.EPERM)
		wantErrno(t, "whiteout in a write grant", rename(w.at("f"), w.at("n")), 0)
	})
	if root == "" {
		return
	}
	var devices []string
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeDevice == 0 {
			return err
		}
		if filepath.Dir(path) != filepath.Join(root, zoneWrite) {
			t.Errorf("%s is a device", path)
		}
		devices = append(devices, d.Name())
		var st unix.Stat_t
		must(t, unix.Lstat(path, &st))
		if st.Rdev != 0 {
			t.Errorf("%s is device %#x, want 0", path, st.Rdev)
		}
		wantErrno(t, "open "+path, open(path, unix.O_RDONLY), unix.ENXIO, unix.EACCES) // mode 0
		return nil
	}))
	if !slices.Equal(devices, whiteouts) {
		t.Errorf("devices %q, want %q", devices, whiteouts)
	}
}

// TestStacking is esc/NS-24, and that a domain cannot mount its way out.
func TestStacking(t *testing.T) {
	runChild(t, 1, func(root string) {
		confine(t, Spec{Rules: rules(t, root)})
		secret := filepath.Join(root, zoneOut, "f")
		wantErrno(t, "read before", open(secret, unix.O_RDONLY), unix.EACCES)
		everything, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
		must(t, err)
		wide := Spec{
			Rules:   []Rule{{FD: everything, Dir: true, Right: WriteExec, Device: true, Unix: true}},
			OpenTCP: true, OpenSignal: true, OpenAbstractUnix: true, ResolveUnixElsewhere: true,
		}
		confine(t, wide)
		wantErrno(t, "read after an allow-all ruleset", open(secret, unix.O_RDONLY), unix.EACCES)
		wantErrno(t, "read what was granted", open(filepath.Join(root, zoneRead, "f"), unix.O_RDONLY), 0)
		err = unix.Mount(filepath.Join(root, zoneOut), filepath.Join(root, zoneRead, "dir"), "", unix.MS_BIND, "")
		wantErrno(t, "bind mount", err, unix.EPERM)
	})
}
