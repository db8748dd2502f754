package explain

import (
	"bytes"

	"brainbox/internal/sys"
)

// Program is the name of a thread's process, as it calls itself, and the number of it
// (proc_pid_status(5)); "" and 0 if it has gone. The name is any bytes.
func Program(tid int) (name string, pid int) {
	c, ok := readCredentials(tid)
	if !ok {
		return "", 0
	}
	b, err := sys.ReadFile("/proc/"+itoa(c.tgid)+"/comm", 64)
	if err != nil {
		return "", 0
	}
	return string(bytes.TrimSuffix(b, []byte("\n"))), c.tgid
}
