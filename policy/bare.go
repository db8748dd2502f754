package policy

// Bare is what package launcher asks for a worker: a run that has nothing of the host's but
// what the policy names. No text sets it, so a policy file can neither ask for it nor
// weaken it.
type Bare struct {
	// Scratch is where a fresh tmpfs lies inside, absolute and clean: the only place but
	// /tmp and /dev/shm that the program may write to. It takes the place of the private
	// home and TMPDIR of other runs, which are folders on a disk of the host.
	Scratch string
	Size    int64 // bytes that the tmpfs holds
	Inodes  int64 // files and folders that it holds

	Env []string // the whole environment, NAME=VALUE; nothing is added and nothing filtered
}
