package main

import (
	"archive/tar"
	"errors"
	"os"
)

// archive writes a tar archive of a folder to a device.
func archive(dir, device string) (err error) {
	f, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	return errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), f.Sync(), f.Close())
}
