package integration

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMatrixFiles(t *testing.T) {
	rows := append(append(readRows(), writeRows()...), nameRows()...)
	runRows(t, append(append(rows, linkRows()...), deviceRows()...))
}

// readRows are attempts to read and to run.
func readRows() []row {
	access := errnos("EACCES")
	return []row{
		{id: "FS-01", name: "read a file outside every grant", attempt: openat("{O}/f", unix.O_RDONLY), want: access},
		{
			id: "FS-01", name: "read a file in a readable folder",
			attempt: openat("/etc/shadow", unix.O_RDONLY), want: access, root: true,
		},
		{
			id: "FS-03", name: "read through dot dot",
			attempt: openat("{W}/../../O/FS-03-read_through_dot_dot/f", 0), want: access,
			control: openat("{O}/f", 0),
		},
		{
			id: "FS-03", name: "read through dot slash",
			attempt: openat("{W}/./..//../O/FS-03-read_through_dot_slash/f", 0), want: access,
			control: openat("{O}/f", 0),
		},
		{id: "FS-04", name: "list a folder outside", attempt: "list {O}", want: access},
		{id: "FS-04", name: "open a folder outside", attempt: openat("{O}", unix.O_DIRECTORY), want: access},
		{id: "FS-23", name: "through proc self root", attempt: openat("/proc/self/root{O}/f", 0), want: access},
		{
			id: "FS-23", name: "through proc self cwd",
			attempt: openat("/proc/self/cwd/../O/FS-23-through_proc_self_cwd/f", 0), want: access,
			control: openat("{O}/f", 0),
		},
		{
			id: "FS-23", name: "through dev fd", attempt: then(openat("{O}", unix.O_PATH), openat("/dev/fd/$1/f", 0)),
			want: last(1, "EACCES"),
		},
		{
			id: "FS-24", name: "reopen O_PATH to read",
			attempt: then(openat("{O}/f", unix.O_PATH), openat("/proc/self/fd/$1", 0)), want: last(1, "EACCES"),
		},
		{
			id: "FS-24", name: "reopen O_PATH to write",
			attempt: then(openat("{O}/f", unix.O_PATH), openat("/proc/self/fd/$1", unix.O_RDWR)),
			want:    last(1, "EACCES"),
		},
		{
			id: "FS-25", name: "reopen read only as read write",
			attempt: then(openat("{R}/f", 0), openat("/proc/self/fd/$1", unix.O_RDWR)), want: last(1, "EACCES"),
		},
		{id: "FS-26", name: "run a program outside", attempt: "run {O}/prog", want: access},
		{
			id: "FS-27", name: "run a program where writing is granted without execute",
			attempt: "run {X}/prog", want: access, inside: "run {W}/prog",
		},
	}
}

// writeRows are attempts to change content.
func writeRows() []row {
	access := errnos("EACCES")
	trunc := call(unix.SYS_TRUNCATE, "s:{R}/f", 0)
	return []row{
		{id: "FS-05", name: "create outside", attempt: openat("{O}/new", unix.O_CREAT|unix.O_WRONLY), want: access},
		{id: "FS-05", name: "write outside", attempt: openat("{O}/f", unix.O_WRONLY), want: access},
		{id: "FS-05", name: "append outside", attempt: "write {O}/f 0x400 x", want: access},
		{
			id: "FS-06", name: "write in a readable folder",
			attempt: openat("{R}/f", unix.O_WRONLY), want: access, inside: openat("{R}/f", 0),
		},
		{id: "FS-07", name: "open with truncate", attempt: openat("{R}/f", unix.O_RDONLY|unix.O_TRUNC), want: access},
		{id: "FS-08", name: "truncate", attempt: trunc, want: access},
		{
			id: "FS-08", name: "create over",
			attempt: openat("{R}/f", unix.O_CREAT|unix.O_TRUNC|unix.O_WRONLY), want: access,
		},
		{
			id: "FS-22", name: "write through a link made inside", want: last(1, "EACCES"),
			attempt: then(call(unix.SYS_SYMLINKAT, "s:{O}/f", cwd, "s:{W}/l"), openat("{W}/l", unix.O_WRONLY|unix.O_TRUNC)),
		},
		{
			id: "FS-20", name: "link an unnamed file outside", want: last(1, "EACCES", "EXDEV"),
			attempt: then(
				openat("{W}", unix.O_TMPFILE|unix.O_RDWR),
				call(unix.SYS_LINKAT, cwd, "s:/proc/self/fd/$1", cwd, "s:{O}/new", unix.AT_SYMLINK_FOLLOW),
			),
		},
		{
			id: "FS-20", name: "make an unnamed file outside",
			attempt: openat("{O}", unix.O_TMPFILE|unix.O_RDWR), want: access,
		},
		{
			id: "FS-37", name: "write to a pipe of the host",
			attempt: openat("{O}/fifo", unix.O_WRONLY|unix.O_NONBLOCK), want: access,
			prepare: func(t *testing.T, w *world) { hostFIFO(t, w) },
		},
	}
}

// hostFIFO makes a named pipe that a host process reads.
func hostFIFO(t *testing.T, w *world) {
	t.Helper()
	path := filepath.Join(w.at(row{id: "FS-37", name: "write to a pipe of the host"}, "O"), "fifo")
	must(t, unix.Mkfifo(path, 0o644))
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { _ = unix.Close(fd); _ = os.Remove(path) })
}

// nameRows are attempts to make and to remove names.
func nameRows() []row {
	rows := slices.Concat(namesIn("O"), namesIn("R"), ownNames())
	return append(rows, sharedRows()...)
}

// namesIn are names of a zone that may not be changed.
func namesIn(zone string) []row {
	access, moved := errnos("EACCES"), errnos("EACCES", "EXDEV")
	old, fresh := "{"+zone+"}/f", "{"+zone+"}/new"
	rows := []row{
		{id: "FS-09", name: "unlink", attempt: unlinkat(old, 0), want: access},
		{id: "FS-09", name: "rmdir", attempt: unlinkat("{"+zone+"}/empty", unix.AT_REMOVEDIR), want: access},
		{id: "FS-10", name: "mkdir", attempt: call(unix.SYS_MKDIRAT, cwd, "s:"+fresh, 0o755), want: access},
		{id: "FS-10", name: "symlink", attempt: call(unix.SYS_SYMLINKAT, "s:/", cwd, "s:"+fresh), want: access},
		{id: "FS-10", name: "fifo", attempt: mknodat(fresh, unix.S_IFIFO|0o644, 0), want: access},
		{id: "FS-10", name: "socket", attempt: mknodat(fresh, unix.S_IFSOCK|0o644, 0), want: access},
		{id: "FS-10", name: "file by mknod", attempt: mknodat(fresh, unix.S_IFREG|0o644, 0), want: access},
		{id: "FS-12", name: "rename from W", attempt: renameat2("{W}/f", fresh, 0), want: moved},
		{id: "FS-13", name: "rename to W", attempt: renameat2(old, "{W}/new", 0), want: moved},
		{id: "FS-14", name: "exchange", attempt: renameat2("{W}/f", old, unix.RENAME_EXCHANGE), want: moved},
		{id: "FS-14", name: "rename over", attempt: renameat2("{W}/f", old, 0), want: moved},
	}
	for i := range rows {
		rows[i].name += " in " + zone
	}
	return rows
}

// ownNames are names of W that even there may not be made, and W itself.
func ownNames() []row {
	device := errnos("EPERM", "EACCES")
	away, back := renameat2("{WROOT}", "{WROOT}2", 0), renameat2("{WROOT}2", "{WROOT}", 0)
	return []row{
		{
			id: "FS-11", name: "make a character device in W",
			attempt: mknodat("{W}/c", unix.S_IFCHR|0o666, unix.Mkdev(1, 3)), want: device, root: true,
		},
		{
			id: "FS-11", name: "make a block device in W",
			attempt: mknodat("{W}/b", unix.S_IFBLK|0o666, unix.Mkdev(7, 0)), want: device, root: true,
		},
		{id: "FS-15", name: "whiteout in W", attempt: renameat2("{W}/f", "{W}/new", unix.RENAME_WHITEOUT), want: device},
		{
			id: "FS-32", name: "move W away", attempt: away, want: errnos("EACCES", "EXDEV"), control: then(away, back),
			prepare: func(_ *testing.T, w *world) { w.vars["WROOT"] = w.dir("W") },
		},
	}
}

// sharedRows are names in the folder for temporary files that all users share.
func sharedRows() []row {
	remove := unlinkat("{TMP}", 0)
	create := openat("{TMP}", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY)
	link := call(unix.SYS_SYMLINKAT, "s:/etc", cwd, "s:{TMP}")
	want := last(0, "EACCES")
	ok := []string{"ok"} // in a folder of its own: sharedTemp looks at the host's
	return []row{
		{id: "FS-38", name: "create a shared file", attempt: then(create, remove), want: want, ns: ok, prepare: sharedTemp},
		{id: "FS-39", name: "plant a shared link", attempt: then(link, remove), want: want, ns: ok, prepare: sharedTemp},
	}
}

// sharedTemp names something in /tmp that is not there.
func sharedTemp(t *testing.T, w *world) {
	t.Helper()
	path := filepath.Join("/tmp", "brainbox-planted-"+filepath.Base(w.root)+"-"+filepath.Base(filepath.Dir(w.root)))
	w.vars["TMP"] = path
	t.Cleanup(func() {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%q is there", path)
			_ = os.Remove(path)
		}
	})
}

// linkRows are attempts to give a file a second name.
func linkRows() []row {
	link := func(from, to string, flags int) string {
		return call(unix.SYS_LINKAT, cwd, "s:"+from, cwd, "s:"+to, flags)
	}
	want := errnos("EXDEV", "EACCES", "EPERM")
	return []row{
		{id: "FS-16", name: "hard link from a readable folder", attempt: link("{R}/f", "{W}/new", 0), want: want},
		{id: "FS-17", name: "hard link from outside", attempt: link("{O}/f", "{W}/new", 0), want: want},
		{id: "FS-17", name: "hard link to the outside", attempt: link("{W}/f", "{O}/new", 0), want: want},
		{
			id: "FS-18", name: "hard link through a descriptor's name",
			attempt: then(openat("{R}/f", unix.O_PATH), link("/proc/self/fd/$1", "{W}/new", unix.AT_SYMLINK_FOLLOW)),
			want:    last(1, "EXDEV", "EACCES", "EPERM"),
		},
		{
			id: "FS-19", name: "hard link of a descriptor",
			attempt: then(openat("{R}/f", unix.O_PATH), call(unix.SYS_LINKAT, "$1", "s:", cwd, "s:{W}/new", unix.AT_EMPTY_PATH)),
			want:    last(1, "ENOENT", "EXDEV", "EACCES", "EPERM"),
		},
	}
}

// deviceRows are attempts to open what is a device and none of the few granted ones.
func deviceRows() []row {
	var rows []row
	for _, dev := range []string{
		"mem", "kmsg", "kvm", "fuse", "net/tun", "vda", "sda", "loop0", "loop-control", "input/event0", "ptmx", "vsock",
		"userfaultfd",
	} {
		if _, err := os.Stat("/dev/" + dev); err != nil || inside() && dev == "ptmx" { // its own: NS-10
			continue
		}
		rows = append(rows, row{
			id: "FS-36", name: "open " + dev + " (if built)",
			attempt: openat("/dev/"+dev, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY),
			want:    errnos("EACCES", "ENOENT", "EPERM"), differs: true,
		})
	}
	return rows
}
