// Command workerhost is a small host of a worker: what a backend does with package launcher.
// Tests start it, so that host, worker and whoever looks at the outside are three processes.
//
//	workerhost CONFIG.json
//
// It reads what it shall do from the file, passes its own standard input and output on to
// the worker, and answers a refusal with one line of JSON and status 125.
//
// # Limits
//
// It makes the mistakes that it is told to make: no host to learn from.
package main
