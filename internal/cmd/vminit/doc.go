// Command vminit is the first process of the virtual machines of "make vm": it loads the
// kernel's modules, mounts what a system has, runs the jobs of brainbox/internal/vmjob one
// after the other, writes what became of them to the last disk, and powers the machine off.
//
//	brainbox internal/cmd/vm starts it; it does nothing when it is not process 1.
//
// # Limits
//
// There is no other service: no udev, no systemd, no log. The network is the loopback
// interface. A job that leaves processes behind has them ended.
package main
