// Package broker connects the sockets of a confined program to the Unix sockets that its
// policy lists, where Landlock cannot judge that itself (below ABI 9).
//
//	b, err := broker.New(broker.Config{Sockets: …, Identity: …})
//	child, err := spawn.Start(request) // Listener, and a filter that notifies connect(2)
//	b.Serve(child.Listener)
//	…
//	b.Close()
//
// The filter hands every connect(2) of the program over, since it sees neither the family
// of the socket nor the address. For each call the broker
//
//   - takes the program's socket (pidfd_getfd(2)) and copies the address, each once, and asks
//     whether the call still waits: from here on nothing the program changes matters;
//   - decides by what the socket is: a stream or seqpacket Unix socket by path, TCP by the
//     plan's ports, as Landlock would; all else as the plan says;
//   - looks a path up as the program would, from the program's working directory and under
//     its user, group and groups, and compares what it finds with each listed socket, which
//     it opens anew by (held folder, name);
//   - connects the program's socket, still under the program's identity, to what it opened
//     itself, never to the address that was copied; and returns what the kernel said.
//
// So the server sees the program's uid, gid and groups (SO_PEERCRED, SO_PEERGROUPS), the
// permissions of the socket file are those that the program meets, and a server that was
// started again is found by its name.
//
// # What a listed name must still be
//
// A socket, reached without following a link, of the owner that it had at the start. That
// is enough where the program cannot write to the folder: whoever can is the operator's
// side. Where it can (Socket.Pinned), it could link any socket of its user there, so only
// the very inode that was there at the start is connected to, and a server that was started
// again is not.
//
// # TCP
//
// A connect(2) made here is not in the program's Landlock domain, so its port is compared
// here with the ports of the plan. Letting the kernel go on with the program's own call
// instead would be no check at all: the socket can be exchanged for a Unix one by dup2(2)
// in the meantime.
//
// # The end of the broker
//
// Once the listener is closed each connect(2) fails with ENOSYS. A program that is left then
// must not load a filter with a listener of its own, which would be asked instead: that is for
// its filter to refuse (seccomp.SoleListener).
//
// # Limits
//
// SO_PEERCRED shows this process's number, not the program's. A server that answers to
// process numbers (polkit) sees brainbox.
//
// A path that leads through /proc/self/fd or another magic link is refused with ELOOP, and
// /proc/self is the broker's.
//
// Abstract addresses are refused with EPERM, those that the program has bound itself too; a
// path that is not listed with EACCES, a socket of the program's own making too.
//
// A program that may not be read (it executed a file that it may not read, or made itself
// undumpable with prctl(2)) gets EACCES and is counted, unless the broker has
// CAP_SYS_PTRACE.
//
// While a thread acts for a program of another user, that program may change the thread's
// scheduling (sched_setattr(2) looks at the effective user). It slows its own connects down.
//
// Closing the descriptor that was taken drops record locks (fcntl(2)) that this process
// holds on the same file: a process that brokers must not hold any on what its program can
// open. Brainbox itself uses flock(2).
//
// The folder of a listed socket is held: if it is removed and made again, the new one is
// another folder.
package broker
