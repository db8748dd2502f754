package state

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"brainbox/internal/strictjson"
)

// KeySize is the length of the operator's key, in bytes.
const KeySize = 32

// keyName is the key's file in the state folder.
const keyName = "operator.key"

// ErrNoKey says that no key was made yet: nothing with an operator's socket ran here.
var ErrNoKey = errors.New("state: no operator key")

// KeyFile is the path of the key.
func (d *Dir) KeyFile() string { return d.path + "/" + keyName }

// Key reads the key that proves an operator on ui.sock.
func (d *Dir) Key() ([KeySize]byte, error) {
	var key [KeySize]byte
	f, err := d.OpenFile(keyName, unix.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return key, ErrNoKey
	}
	if err != nil {
		return key, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, KeySize+1))
	if err != nil {
		return key, err
	}
	if len(text) != KeySize || [KeySize]byte(text) == key {
		return key, fmt.Errorf("state: %s is no key of %d bytes", strictjson.Escape(f.Name()), KeySize)
	}
	return [KeySize]byte(text), nil
}

// MakeKey reads the key, and makes it of random bytes if there is none. Several callers at
// once get the same one: it is written under another name first (O_EXCL), and given its own
// only where there is none (RENAME_NOREPLACE).
func (d *Dir) MakeKey() ([KeySize]byte, error) {
	if key, err := d.Key(); !errors.Is(err, ErrNoKey) {
		return key, err
	}
	var suffix [8]byte
	var key [KeySize]byte
	_, _ = rand.Read(suffix[:]) // does not fail
	_, _ = rand.Read(key[:])
	temp := fmt.Sprintf("%s.%x", keyName, suffix)
	f, err := d.OpenFile(temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return [KeySize]byte{}, err
	}
	defer func() { _ = unix.Unlinkat(d.fd, temp, 0) }()
	_, err = f.Write(key[:])
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return [KeySize]byte{}, err
	}
	// Renamed, not linked: for a moment it would have two names, which a reader refuses.
	err = unix.Renameat2(d.fd, temp, d.fd, keyName, unix.RENAME_NOREPLACE)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return [KeySize]byte{}, os.NewSyscallError("renameat2", err)
	}
	_ = unix.Fsync(d.fd)
	return d.Key()
}
