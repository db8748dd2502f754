package wire

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Sizes in bytes.
const (
	KeySize   = 32
	NonceSize = 32
)

// proofLabel keeps a proof from being one of anything else that the key may be used for.
const proofLabel = "brainbox/ui-proof/v1\x00"

// Key is what a user interface and the server share. The zero key proves nothing.
type Key [KeySize]byte

// NewKey makes a random key.
func NewKey() (k Key) {
	_, _ = rand.Read(k[:]) // never fails
	return k
}

// Proof is HMAC-SHA256 with the key over a label and the nonce: 64 hexadecimal digits.
func (k *Key) Proof(nonce [NonceSize]byte) string {
	h := hmac.New(sha256.New, k[:])
	_, _ = io.WriteString(h, proofLabel)
	_, _ = h.Write(nonce[:])
	return hexText(h.Sum(nil))
}

// Check reports whether a proof is the one for the nonce, in constant time.
func (k *Key) Check(nonce [NonceSize]byte, proof string) bool {
	return *k != (Key{}) && hmac.Equal([]byte(k.Proof(nonce)), []byte(proof))
}

// WriteKey makes a file that holds the key, with mode 0600. There must be none.
func WriteKey(path string, k Key) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("wire: key: %w", err)
	}
	_, err = f.Write(k[:])
	return errors.Join(err, f.Close())
}

// ReadKey reads a file that [WriteKey] made. It is refused unless it is a regular file of
// the caller's that nobody else may read or write.
func ReadKey(path string) (k Key, err error) {
	// O_NONBLOCK: a FIFO must not make the open wait.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Key{}, fmt.Errorf("wire: key: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Key{}, fmt.Errorf("wire: key: %w", err)
	}
	owner, ok := st.Sys().(*syscall.Stat_t)
	if !st.Mode().IsRegular() || st.Mode().Perm()&0o077 != 0 || st.Size() != KeySize || !ok || int(owner.Uid) != os.Geteuid() {
		return Key{}, errors.New("wire: key: not a file of 32 bytes that is the caller's alone")
	}
	if _, err := io.ReadFull(f, k[:]); err != nil {
		return Key{}, fmt.Errorf("wire: key: %w", err)
	}
	return k, nil
}

func hexText(b []byte) string { return hex.EncodeToString(b) }

// fromHex fills b from exactly as many lower-case digits.
func fromHex(b []byte, s string) bool {
	got, err := hex.DecodeString(s)
	if err != nil || len(got) != len(b) || hexText(got) != s {
		return false
	}
	copy(b, got)
	return true
}
