//go:build !amd64 && !arm64

package seccomp

// defaultBlob is empty: [Default] refuses before it looks.
const defaultBlob = ""
