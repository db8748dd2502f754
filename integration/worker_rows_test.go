package integration

import (
	"slices"

	"golang.org/x/sys/unix"
)

// workerRow is one row of the evidence matrix (contract brainkit 9.4).
type workerRow struct {
	id, name string
	attempt  string   // what the worker tries
	want     []string // the answers inside; nothing else will do

	// layers are what holds the row. With all of them left out it has to be red; with one
	// left out the others still hold it, or that one is the only layer.
	layers []string
	alone  [][]string // in place of each of the layers alone
	red    string     // the answer when all are left out; "" is "ok"
	root   bool       // only root's worker can be let out that far
}

// The layers, by the names that a build for tests knows them by.
const (
	layerMount    = "writable-repo"
	layerLandlock = "no-landlock"
	layerFilter   = "no-seccomp"
)

// repoLayers hold the repository.
func repoLayers() []string { return []string{layerMount, layerLandlock} }

// processLayers hold the processes of the host: they cannot be named, nothing may be done
// to what is in an outer user namespace, and the program has no capability.
func processLayers() []string {
	return []string{"share-pid", "host-proc", "share-user", "keep-caps", layerLandlock, layerFilter}
}

func readOnly() []string { return errnos("EROFS", "EACCES") }

// fileRows are M1 to M10, M15, M16, M23 and M29.
func fileRows() []workerRow {
	held := func(id, name, attempt string) workerRow {
		return workerRow{id: id, name: name, attempt: attempt, want: readOnly(), layers: repoLayers()}
	}
	chmod := held("bk/M1", "chmod", call(unix.SYS_FCHMODAT, cwd, "s:{R}/policy/chmod", 0o600))
	chmod.layers = []string{layerMount}
	alias := held("bk/M3", "a hard link elsewhere in the repo", "write {R}/elsewhere/alias 0x400 x")
	alias.layers = []string{"policy-only", layerLandlock}
	private := then(openat("{P}", 0), call(unix.SYS_MMAP, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE, "$1", 0),
		openat("/proc/self/mem", unix.O_RDWR), call(unix.SYS_PWRITE64, "$3", "s:changed", 7, "$2"))
	return []workerRow{
		held("bk/M1", "write", "write {R}/policy/write 0 x"),
		held("bk/M1", "append", "write {R}/policy/append 0x400 x"),
		held("bk/M1", "truncate", call(unix.SYS_TRUNCATE, "s:{R}/policy/truncate", 0)),
		held("bk/M1", "unlink", unlinkat("{R}/policy/unlink", 0)),
		held("bk/M1", "rename", renameat2("{R}/policy/rename", "{R}/policy/renamed", 0)),
		chmod,
		held("bk/M2", "through dot dot", "write {R}/work/../policy/write 0x400 x"),
		alias,
		{
			id: "bk/M4", name: "a hard link in a folder of the host's", attempt: "read {S}/alias", want: errnos("ENOENT", "EACCES"),
			layers: []string{"host-scratch", layerLandlock},
		},
		{
			id: "bk/M5", name: "by device and inode", attempt: "run /usr/bin/find /scratch /tmp /dev/shm -xdev -links +1 -type f", want: []string{`ok ""`},
			layers: []string{"host-scratch", layerLandlock}, alone: [][]string{{layerLandlock}}, red: `ok "/scratch/alias"`,
		},
		{
			id: "bk/M6", name: "a new hard link in scratch", attempt: call(unix.SYS_LINKAT, cwd, "s:{P}", cwd, "s:{S}/linked", 0),
			want: errnos("EXDEV", "EROFS", "EACCES"), layers: []string{"scratch-in-repo", layerMount, layerLandlock},
		},
		held("bk/M7", "a symbolic link to the file", "write {R}/link 0x400 x"),
		held("bk/M7", "a symbolic link to the folder", "write {R}/linkdir/write 0x400 x"),
		held("bk/M8", "a new file", openat("{R}/policy/new", unix.O_CREAT|unix.O_WRONLY)),
		held("bk/M8", "a new folder", call(unix.SYS_MKDIRAT, cwd, "s:{R}/policy/newdir", 0o755)),
		held("bk/M10", "an ancestor", renameat2("{R}/moved", "{R}/moved2", 0)),
		held("bk/M15", "a shared mapping", then(openat("{R}/policy/write", unix.O_RDWR),
			call(unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED, "$1", 0))),
		{id: "bk/M16", name: "a private mapping through mem", attempt: self(private), want: append(errnos("EACCES", "EPERM", "EIO", "EROFS"), "ok")},
		held("bk/M23", "a descriptor that was passed", "passfd {R}/policy/write"),
		{
			id: "bk/M29", name: "script, shell, job, interpreter", attempt: "run /bin/sh {R}/attack/nested.sh", want: []string{`ok "nothing"`},
			layers: repoLayers(), red: `ok "written`,
		},
		{
			id: "bk/M42", name: "a command line's own write", attempt: "run /bin/sh {R}/attack/cli.sh", want: []string{
				`exit 2 "{R}/attack/cli.sh: 1: cannot create {R}/policy/cli: Read-only file system`,
				`exit 2 "{R}/attack/cli.sh: 1: cannot create {R}/policy/cli: Permission denied`,
			},
			layers: repoLayers(),
		},
	}
}

// procRows are M17 to M22 and M25: what belongs to other processes.
func workerProcRows() []workerRow {
	pid := "{PID}"
	none := errnos("ENOENT", "ESRCH", "EPERM", "EACCES", "ENOSYS")
	held := func(id, name, attempt string) workerRow {
		return workerRow{id: id, name: name, attempt: attempt, want: none, layers: processLayers(), root: true}
	}
	every := func(id, name, kind string) workerRow {
		r := held(id, name, self("proc "+kind+" {P}"))
		r.want, r.red = []string{"ok none"}, "ok found"
		return r
	}
	// With the host's /proc alone the names are there, so it has no second layer but
	// Landlock, which has no rule for it then.
	visible := func(r workerRow) workerRow {
		r.layers, r.root = []string{"host-proc", layerLandlock}, false
		return r
	}
	pidfd := call(unix.SYS_PIDFD_OPEN, pid, 0)
	byNumber := held("bk/M20", "mem by the host's number", then(openat("/proc/"+pid+"/mem", unix.O_RDONLY),
		call(unix.SYS_PREAD64, "$1", "buf:8", 8, "{ADDR}")))
	return []workerRow{
		every("bk/M17", "descriptors of every process", "fd"),
		every("bk/M18", "mapped files of every process", "map_files"),
		every("bk/M19", "roots of every process", "root"),
		byNumber,
		held("bk/M20", "a descriptor by the host's number", openat("/proc/"+pid+"/fd/0", unix.O_RDONLY)),
		{id: "bk/M20", name: "the names of descriptors by the host's number", attempt: "list /proc/" + pid + "/fd", want: none, layers: []string{"host-proc"}},
		held("bk/M20", "root by the host's number", "list /proc/"+pid+"/root"),
		held("bk/M20", "cwd by the host's number", "list /proc/"+pid+"/cwd"),
		visible(held("bk/M21", "the host's command line", "read /proc/{HOST}/cmdline")),
		held("bk/M22", "ptrace", fork(call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, pid, 0, 0), call(unix.SYS_KILL, pid, int(unix.SIGCONT)))),
		held("bk/M22", "process_vm_writev", call(unix.SYS_PROCESS_VM_WRITEV, pid, "iov:x", 1, "riov:{ADDR},1", 1, 0)),
		held("bk/M25", "pidfd_getfd", then(pidfd, call(unix.SYS_PIDFD_GETFD, "$1", 0, 0))),
	}
}

// kernelRows are M24, M26, M27, M46, M48 and M49.
func kernelRows() []workerRow {
	refused := errnos("EPERM", "ENOSYS", "EACCES", "EAFNOSUPPORT")
	filter := func(id, name, attempt string) workerRow {
		return workerRow{id: id, name: name, attempt: attempt, want: errnos("ENOSYS", "EPERM"), layers: []string{layerFilter}}
	}
	mount := func(name, attempt string) workerRow {
		return workerRow{
			id: "bk/M27", name: name, attempt: self(attempt), want: refused,
			layers: []string{"keep-caps", layerFilter, layerLandlock}, root: true,
		}
	}
	attr := "u64:0,1,0,0" // attr_clr = MOUNT_ATTR_RDONLY
	stream := socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	return []workerRow{
		{
			id: "bk/M24", name: "a donor on an abstract socket", attempt: then(stream, connect("ab:{ABSTRACT}")),
			want: errnos("EPERM", "ECONNREFUSED"), layers: []string{"host-net", layerLandlock},
		},
		{id: "bk/M24", name: "a donor on a socket by path", attempt: then(stream, connect("un:{UNIX}")), want: errnos("ENOENT")},
		{
			id: "bk/M24", name: "a donor's socket in the repo, there at the start", attempt: then(stream, connect("un:{R}/work/sock")),
			want: errnos("ECONNREFUSED", "EACCES"), layers: []string{"unmasked"},
		},
		{
			id: "bk/M26", name: "open_by_handle_at", attempt: "byhandle {P}", want: refused,
			layers: []string{"share-user", "keep-caps", layerFilter}, root: true,
		},
		mount("mount_setattr", call(unix.SYS_MOUNT_SETATTR, cwd, "s:{R}", 0, attr, 32)),
		mount("remount", call(unix.SYS_MOUNT, "s:none", "s:{R}", 0, unix.MS_REMOUNT|unix.MS_BIND, 0)),
		mount("bind", call(unix.SYS_MOUNT, "s:/tmp", "s:{R}/work", 0, unix.MS_BIND, 0)),
		mount("fsopen", call(unix.SYS_FSOPEN, "s:tmpfs", 0)),
		{
			id: "bk/M27", name: "a user namespace within", attempt: fork(call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)),
			want: errnos("EPERM", "ENOSYS", "ENOSPC"), layers: []string{layerFilter, "nested"},
		},
		{
			id: "bk/M46", name: "TCP to a loopback port of the host", attempt: then(socket(unix.AF_INET, unix.SOCK_STREAM, 0), connect("in4:{TCP4}")),
			want: errnos("ECONNREFUSED", "ENETUNREACH"), layers: []string{"host-net"},
		},
		{
			id: "bk/M46", name: "UDP to the name server's port", attempt: then(socket(unix.AF_INET, unix.SOCK_DGRAM, 0), sendTo("in4:192.0.2.1:53")),
			want: errnos("ENETUNREACH", "EPERM"),
		},
		{
			id: "bk/M48", name: "a set-user-id program", attempt: "run {R}/suid status Uid", want: []string{`ok "ok Uid=0,0,0,0`},
			layers: []string{"suid", "keep-privs", layerLandlock, layerFilter}, root: true, red: `ok "ok Uid=0,12345`,
			alone: [][]string{{"suid"}, {"keep-privs", layerLandlock, layerFilter}},
		},
		filter("bk/M49", "io_uring_setup", call(unix.SYS_IO_URING_SETUP, 1, "buf:120")),
		filter("bk/M49", "keyctl", call(unix.SYS_KEYCTL, 0, -3, 1)),
		filter("bk/M49", "userfaultfd", call(unix.SYS_USERFAULTFD, 1)),
		{id: "bk/M49", name: "bpf", attempt: call(unix.SYS_BPF, 0, "buf:64", 64), want: errnos("ENOSYS", "EPERM")},
		{id: "bk/M49", name: "perf_event_open", attempt: call(unix.SYS_PERF_EVENT_OPEN, "buf:128", 0, -1, -1, 0), want: errnos("ENOSYS", "EPERM", "EACCES")},
	}
}

func workerRows() []workerRow { return slices.Concat(fileRows(), workerProcRows(), kernelRows()) }
