// Package sys holds raw calls on files that package os would register with the runtime's
// poller: four more system calls a file, and a FIFO would block the start.
//
//	text, err := sys.ReadFile("/proc/self/cgroup", 1<<20)
//
// # Limits
//
// The calls block their thread; they are meant for small files of the kernel and of
// the system.
package sys
