package dirchain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Hash is the SHA-256 of a file's whole content.
type Hash [sha256.Size]byte

// Sum is the hash of data.
func Sum(data []byte) Hash { return sha256.Sum256(data) }

// String gives 64 lower-case hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText gives what String gives.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText is [ParseHash].
func (h *Hash) UnmarshalText(text []byte) error {
	got, err := ParseHash(string(text))
	if err == nil {
		*h = got
	}
	return err
}

// ParseHash reads 64 lower-case hexadecimal digits.
func ParseHash(text string) (Hash, error) {
	var h Hash
	if raw, err := hex.DecodeString(text); err == nil && len(raw) == len(h) {
		copy(h[:], raw)
		if h.String() == text {
			return h, nil
		}
	}
	return Hash{}, fmt.Errorf("dirchain: %q is not a SHA-256 of 64 lower-case hexadecimal digits", text)
}
