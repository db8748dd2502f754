package launcher

import (
	"time"

	"brainbox/policy"
)

// Worker says how one worker is launched: the process tree that runs an agent's code for
// one turn. It is the closed form of a run. Its repository is read-only, what it writes lies
// in a tmpfs that is its own, it is handed three new pipes and nothing else, and no clause
// of it may stay open. [Worker.Start] tries the real launch with a fixture first, each
// time; no option, variable or fall-back starts a worker without.
//
// The calling process must hand on nothing by mistake: descriptors above 2 that it was itself
// started with and that are not close-on-exec end the launch. Mark them at its start
// (close_range(2), CLOSE_RANGE_CLOEXEC, Linux 5.11); what Go opens is marked.
//
// The zero value of each field is the narrow choice. What widens is named and belongs to
// one launch.
//
//	w := launcher.Worker{
//		Repo:    "/srv/repo",
//		Command: []string{"/usr/local/bin/agent", "--stdio"},
//		Env:     map[string]string{"PATH": "/usr/bin:/bin", "HOME": launcher.ScratchDir},
//	}
//	run, err := w.Start(ctx, launcher.TurnAutonomous)
//	var refused *launcher.WorkerRefusal
//	if errors.As(err, &refused) { … refused.Requirement, refused.Route … }
//	fmt.Fprintln(run.Stdin, request)
//	line, err := run.Lines().Next()
//	result, err := run.Wait()
type Worker struct {
	// Dir is the folder of the brainbox command, as in [HostOptions]; empty: /usr/local/bin,
	// then /usr/bin.
	Dir string

	// Repo is the repository: absolute, a directory, neither / nor /tmp. It is resolved once
	// and is the working directory inside, where it can be read and executed, and not
	// written.
	Repo string
	// Scratch is where the worker's own tmpfs is mounted inside: absolute, and apart from
	// everything that is granted. Empty: [ScratchDir].
	Scratch string
	// State is an optional folder that outlives the worker: a directory on a tmpfs of the
	// host, on another device than Repo, named without links, apart from Repo and Scratch, and
	// not a place of many such as /dev/shm itself.
	// It can be written to inside, at the same path.
	State string
	// Command is the program, absolute, and its arguments as they are.
	Command []string
	// Env is the whole environment. [ScratchVariable] is added last, whatever it says here.
	Env map[string]string
	// Read names further paths that can be read and executed, each absolute: not /, a folder
	// that holds much more than one thing (/home, /etc, /tmp, …), nor one that holds Repo.
	Read []string
	// Relay is the path of a socket of the host's, the only way out. Its folder must be the
	// caller's and closed to others (0700); it is mounted read-only at the same path.
	Relay string

	Limits WorkerLimits

	// HostNetwork leaves the worker in the host's network namespace, HostFiles shows it the
	// host's files, read-only. Neither is possible in an autonomous turn.
	HostNetwork bool
	HostFiles   bool
}

// WorkerLimits bounds what one worker takes. Zero means the default.
type WorkerLimits struct {
	// Scratch is the size of the scratch tmpfs in bytes, ScratchFiles the number of files
	// and folders in it. Defaults: 512 MiB, 131072. It is the host's memory.
	Scratch      int64
	ScratchFiles int64
	// Processes bounds the worker's processes and threads. Default: 1024 for an ordinary
	// user. The kernel does not count root's (setrlimit(2), RLIMIT_NPROC): for root there is
	// no default, and a number needs a delegated cgroup v2.
	Processes int64
	// Memory in bytes; it needs a delegated cgroup v2. Default: none.
	Memory int64
	// Files is the number of open descriptors of a process. Default: the caller's own limit.
	Files uint64
	// FileSize in bytes. Default: none; tmpfs bounds it.
	FileSize int64
	// Time ends the worker. Default: none.
	Time time.Duration
}

// The defaults of a worker.
const (
	// ScratchDir is where scratch is mounted unless a Worker says otherwise.
	ScratchDir = "/scratch"
	// ScratchVariable is the variable that says where it is.
	ScratchVariable = "BRAINBOX_SCRATCH"

	defaultScratch   = 512 << 20
	defaultFiles     = 131072
	defaultProcesses = 1024
)

// Turn is the kind of turn that a worker is launched for. It chooses no weaker launch:
// every kind is probed alike. The zero Turn is the one that may be widened in nothing.
type Turn uint8

// The kinds of turn.
const (
	TurnAutonomous Turn = iota
	TurnInteractive
	TurnVoice
)

// String returns the word of messages.
func (t Turn) String() string {
	if int(t) < len(turnNames()) {
		return turnNames()[t]
	}
	return "unknown"
}

func turnNames() []string { return []string{"autonomous", "interactive", "voice"} }

// scratch is where scratch is, as asked.
func (w *Worker) scratch() string { return firstOf(w.Scratch, ScratchDir) }

// restricted reports whether the launch is widened in nothing.
func (w *Worker) restricted() bool { return !w.HostNetwork && !w.HostFiles }

// workerFolders are the folders of programs and libraries that every worker has.
func workerFolders() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"}
}

// workerEtc is what the loader and the name service read.
func workerEtc() []string {
	return []string{
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
		"/etc/nsswitch.conf", "/etc/host.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/gai.conf", "/etc/services",
		"/etc/protocols", "/etc/passwd", "/etc/group", "/etc/localtime",
	}
}

// The sources of a worker's policy.
const (
	sourceWorkers = iota // what every worker has
	sourceWorker         // what this one names
)

// policy is what this launch asks for. It is pure: the launch and its probe get the same
// one, but for the program.
func (w *Worker) policy(look *workerLook) *policy.Policy {
	p := &policy.Policy{
		Sources: []policy.Source{{Kind: policy.KindProfile, Name: "worker"}, {Kind: policy.KindFlag, Name: "Worker"}},
		Bare: &policy.Bare{
			Scratch: look.scratch, Size: orDefault(w.Limits.Scratch, defaultScratch),
			Inodes: orDefault(w.Limits.ScratchFiles, defaultFiles), Env: w.environ(look.scratch),
		},
	}
	grant := func(source int, skip bool, right policy.Right, paths ...string) {
		for _, path := range paths {
			p.Grants = append(p.Grants, policy.Grant{
				Path: policy.Path{Text: path, Abs: path, Skip: skip, Source: source}, Right: right,
			})
		}
	}
	grant(sourceWorkers, true, policy.RightExec, workerFolders()...)
	if w.HostFiles {
		grant(sourceWorker, false, policy.RightExec, "/")
	} else {
		grant(sourceWorkers, true, policy.RightRead, workerEtc()...)
	}
	grant(sourceWorker, false, policy.RightExec, look.repo.Target)
	grant(sourceWorker, false, policy.RightExec, w.Read...)
	if w.State != "" {
		grant(sourceWorker, false, policy.RightWriteExec, w.State)
	}
	if w.Relay != "" {
		grant(sourceWorker, false, policy.RightRead, look.relayDir)
		p.Network.Unix = []policy.Path{{Text: w.Relay, Abs: w.Relay, Source: sourceWorker}}
	}
	if w.HostNetwork {
		p.Network.Mode = policy.Value[policy.NetworkMode]{V: policy.NetHost, Set: true, Source: sourceWorker}
	}
	p.Sandbox.Isolation = policy.Value[string]{V: "namespaces", Set: true, Source: sourceWorkers}
	p.Sandbox.Cwd = &policy.Path{Text: look.repo.Target, Abs: look.repo.Target, Source: sourceWorker}
	p.Process = w.Limits.process(look.root)
	return p
}

// process says what the kernel shall count. Root's processes it does not.
func (l *WorkerLimits) process(root bool) policy.Process {
	var p policy.Process
	pids := l.Processes
	if pids == 0 && !root {
		pids = defaultProcesses
	}
	p.Pids = policy.Value[int64]{V: pids, Set: pids > 0, Source: sourceWorker}
	p.Memory = policy.Value[int64]{V: l.Memory, Set: l.Memory > 0, Source: sourceWorker}
	p.NoFile = policy.Value[uint64]{V: l.Files, Set: l.Files > 0, Source: sourceWorker}
	p.FSize = policy.Value[int64]{V: l.FileSize, Set: l.FileSize > 0, Source: sourceWorker}
	p.Timeout = policy.Value[time.Duration]{V: l.Time, Set: l.Time > 0, Source: sourceWorker}
	return p
}

func orDefault(n, instead int64) int64 {
	if n == 0 {
		return instead
	}
	return n
}
