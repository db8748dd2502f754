// Package explain watches the system calls of a confined program, and says of each what the
// plan makes of it before the kernel does.
package explain
