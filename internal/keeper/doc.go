// Package keeper starts one program of the host and ends everything that it leaves behind,
// daemons included.
//
//	kept, err := keeper.Start(&keeper.Program{Keeper: self, File: file, Argv: argv, …})
//	if err != nil {
//		return err // the program never ran
//	}
//	defer kept.Close()
//	<-kept.Exited() // or kept.Stop(), or kept.Kill()
//	end := kept.Wait()
//
// Between the caller and the program stands a process of its own for each, the keeper: this
// executable again, or another one that calls [Serve] for [Asked]. The keeper is the subreaper
// of the program (prctl(2), PR_SET_CHILD_SUBREAPER, Linux 3.4), so a descendant that forks
// twice and calls setsid(2) becomes the keeper's child, and no other program's: several at once
// cannot end each other's, nor take each other's exit status, nor those of the caller's other
// children. When the keeper has no child left, nothing is left.
//
//	caller ── what to run ─────────────────────────▶ keeper    frames on descriptor 3
//	caller ◀─ started PID | failed ERRNO ─────────── keeper
//	caller ── t (SIGTERM, SIGKILL later) | k (SIGKILL) ▶ keeper
//	caller ◀─ exited STATUS ──────────────────────── keeper    the program alone
//	caller ◀─ ended KILLED SURVIVORS ─────────────── keeper    nothing is left; it exits
//
// The end of the caller is the end of that connection, on which the keeper kills everything.
// It has therefore no parent-death signal of its own, which would end it before its work is
// done; the program has one (PR_SET_PDEATHSIG), for the case that the keeper itself is killed.
// The death signal follows the thread that forks, so the keeper starts the program on a thread
// that it never gives back.
//
// # Limits
//
// A program of the same user can kill its keeper, as it can kill the caller. Then it dies
// itself, and what is in its session is looked for and killed; a descendant in a session of
// its own goes on, unless there is a cgroup. One that became another user (sudo) cannot be
// signalled and is counted as a survivor, as is one in an uninterruptible sleep. /proc must be
// mounted.
package keeper
