package dirchain

import (
	"os"

	"golang.org/x/sys/unix"
)

// Dir opens the held root directory once more, for a caller that hands it on, as
// the working directory of a program or to another [NewRoot]. The descriptor is
// close-on-exec, has its own offset, and lives on when the root is closed.
func (r *Root) Dir() (*os.File, error) {
	if err := r.acquire(); err != nil {
		return nil, named("open", ".", err)
	}
	defer r.release()
	fd, _, err := r.openStat(r.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, named("open", ".", translated(err))
	}
	return os.NewFile(uintptr(fd), r.path), nil
}
