//go:build !amd64

package main

import "errors"

// opInt80 needs the 32-bit entry of amd64.
func opInt80([]string) (string, error) {
	return "", errors.ErrUnsupported
}
