// Command bench measures what brainbox costs, and writes a page about it.
//
//	bench -bin DIR -work DIR [-uid N] [-exec-policy FILE] [-rounds N] [-long N] >docs/benchmarks.md
//	bench -only dirchain -page docs/benchmarks.md -work DIR [-tmpfs DIR] [-uid N] [-rounds N] [-long N]
//	bench -only connects -page docs/benchmarks.md -bin DIR -work DIR [-uid N] [-rounds N]
//	bench -only bridge -page docs/benchmarks.md -bin DIR -work DIR [-tmpfs DIR] [-uid N] [-rounds N]
//	bench -only network -page docs/benchmarks.md -bin DIR -work DIR [-uid N] [-rounds N]
//	bench -only explain -page docs/benchmarks.md -bin DIR -work DIR [-uid N] [-rounds N]
//
// It is started by "make bench". The commands of a group are started in
// interleaved rounds, A B C A B C …, by one small starter process in the same
// way: vfork, execve, wait4. Time is CLOCK_MONOTONIC around the two calls, peak
// memory is ru_maxrss. Each figure of a row is made within one round, a ratio or
// a difference, so that drift of the machine is in both of its parts; the row
// has the median over the rounds and its 95 % interval by order statistics. A
// bound holds when the whole interval lies under it; otherwise it is not shown.
//
// With -only dirchain, the calls of one package are timed in this process, a batch of them
// with the package and one without in every round, and the package's part of the
// page is replaced. With -only connects the same is done for connects through the
// broker, which are started as above, many by each start. With -only bridge it is done for
// calls through a bridge, whose server and clients are in this process, and for starts with
// and without one. With -only network it is done for a program that reaches a server by name:
// it is another process, bench/netclient, inside and outside; the server is in this one. With
// -only explain it is done for programs that open many files, in a run that is explained.
//
// With -uid, as root, it gives up root first: bwrap and brainbox are then used
// as an ordinary user does.
//
// # Limits
//
// One machine, warm caches, no load beside it. A figure is never a test: what
// "make test" runs has no time in it.
package main
