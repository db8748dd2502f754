// Package procfs reads who is whose child, and in what state, from /proc (proc(5)).
//
//	for _, pid := range procfs.Children(os.Getpid()) {
//		if s, ok := procfs.ReadStat(pid); ok && s.State == 'Z' {
//			reap(pid)
//		}
//	}
//
// # Limits
//
// Numbers are those of the proc file system that is mounted at /proc. What is read may be
// out of date when it is returned, and a number may have been given to another process
// since: who acts on one holds a descriptor of it first (pidfd_open(2)).
package procfs
