// Package remote runs jobs of package supervise in another, small process: a large host
// forks slowly, and only the small one should be a subreaper.
//
// The host starts `brainbox spawn` with one end of a SOCK_SEQPACKET socketpair as
// descriptor 3 ([Start]); that process answers with [Serve]. The wire is that of
// docs/interfaces.md, "Library and spawner": a greeting each way, then for each run the
// SHA-256 and the bytes of the job, its descriptors by SCM_RIGHTS, and back the status
// lines and the pidfd. The spawner acts on no path that it is told, but for mounts, whose
// paths have to lead to what the host holds. When the host's end closes, the run ends.
//
//	sp, err := remote.Start(brainboxFile)
//	run, err := sp.Run(job)
//	result, err := run.Wait()
//
// # Limits
//
// One run at a time in each spawner. Both ends are of one version, on one machine.
package remote
