package main

import (
	"errors"
	"strconv"
	"syscall"
)

// int80 makes a system call by the 32-bit entry, with its numbers.
func int80(nr, a1, a2, a3 uintptr) uintptr

// opInt80 makes one system call of the i386 table.
func opInt80(words []string) (string, error) {
	var args [4]uintptr
	if len(words) == 0 || len(words) > len(args) {
		return "", errors.New("usage: int80 NR [ARG]…")
	}
	for i, w := range words {
		n, ok := number(w)
		if !ok {
			return "", errors.New("bad number")
		}
		args[i] = n
	}
	r := int32(int80(args[0], args[1], args[2], args[3]))
	if r < 0 && r >= -4095 {
		return "", syscall.Errno(-r)
	}
	return strconv.Itoa(int(r)), nil
}
