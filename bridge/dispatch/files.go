package dispatch

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Names in the folder of the file transport.
const (
	requestName = "request.json"
	resultName  = "result.json"
)

var errNoResult = errors.New("dispatch: no result file")

// readResult reads the file that a command wrote its result to, one byte more than a result may
// have at most. The folder is the command's, so what is there is looked at before it is opened:
// it must be a regular file of this user with one name, and is found without following a link.
// Nothing of the command runs any more.
func readResult(dir *os.File, name string) ([]byte, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("openat", err)
	}
	held := os.NewFile(uintptr(fd), name)
	defer held.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, os.NewSyscallError("fstat", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 || int(st.Uid) != os.Geteuid() {
		return nil, errNoResult
	}
	f, err := os.Open(procPath(held))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxResult+1))
}

// writeRequest makes the request file, 0600.
func writeRequest(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
