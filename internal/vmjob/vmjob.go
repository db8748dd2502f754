package vmjob

// Where things are in the guest.
const (
	// Payload is where the disk with the tests is mounted.
	Payload = "/payload"
	// ListFile is the job list, below Payload.
	ListFile = "jobs.json"
	// Group is the parent of every job's control group.
	Group = "/sys/fs/cgroup/jobs"
	// Results are the names in the archive on the last disk: what each job printed is in the
	// file of its name.
	Results = "results.json"
	// UID is the ordinary user's.
	UID = 1000
	// GID is that of the user's only group.
	GID = 1000
)

// The guest's disks, in the order in which they are given to it.
const (
	DiskRoot    = "/dev/vda" // ext4, thrown away afterwards
	DiskPayload = "/dev/vdb" // ext4, read only
	DiskResults = "/dev/vdc" // a tar archive
)

// Cgroup is where in the unified hierarchy a job runs. The zero value gives it no group that
// it may write.
type Cgroup string

const (
	// Root is the root of the hierarchy.
	Root Cgroup = "root"
	// Own is a delegated group in which the job is alone: what systemd-run(1) makes with
	// --scope -p Delegate=yes.
	Own Cgroup = "own"
	// Left is below a delegated group that enables all controllers, as an earlier run of
	// brainbox leaves it.
	Left Cgroup = "left"
)

// Job is one program to run.
type Job struct {
	Name    string   // of the result
	Root    bool     // run as root, else as the ordinary user
	Dir     string   // working directory
	Args    []string // Args[0] is a path
	Env     []string // added to the guest's own
	Cgroup  Cgroup
	Seconds int // after which it is ended
}

// List is all that a guest does.
type List struct {
	Jobs []Job
}

// Result is what became of a job.
type Result struct {
	Name    string
	Status  int    // exit status, 128 and the signal, or -1 if it did not start
	Error   string // why it did not start, or that it took too long
	Seconds int
}

// Report is what a guest hands back.
type Report struct {
	Release string // uname(2)
	Machine string
	Results []Result
}
