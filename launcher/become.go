package launcher

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownsUs reports whether a uid is that of this very program's file: its owner decides
// already what runs here. Inside a user namespace root's files are those of a uid that
// nobody has (user_namespaces(7), overflowuid).
func ownsUs(uid uint32) bool {
	var st unix.Stat_t
	return unix.Stat("/proc/self/exe", &st) == nil && st.Uid == uid
}

// BecomeSibling ends this program by becoming one of brainbox's own helpers, with its open
// descriptors. It returns only if that fails.
func BecomeSibling(name string, args, env []string) error {
	f, err := openSibling(name)
	if err != nil {
		return err
	}
	defer f.Close() // otherwise execve(2) does it
	err = syscall.Exec("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), append([]string{name}, args...), env)
	return &Refusal{Status: StatusRefused, Message: name + " cannot be run: " + err.Error()}
}
