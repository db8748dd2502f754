package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// assertIdentity fails unless this process is the user it should be, in all
// four kinds of id, without other groups and, but for root, without
// capabilities, and owns the folders it was given.
func assertIdentity(uid, gid int) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	u, g := strconv.Itoa(uid), strconv.Itoa(gid)
	want := map[string][]string{
		"Uid:": {u, u, u, u}, "Gid:": {g, g, g, g}, "Groups:": {},
	}
	if uid != 0 {
		for _, set := range []string{"CapInh:", "CapPrm:", "CapEff:", "CapAmb:"} {
			want[set] = []string{"0000000000000000"}
		}
	}
	var errs []error
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if value, ok := want[fields[0]]; ok && !slices.Equal(fields[1:], value) {
			errs = append(errs, fmt.Errorf("%s is %v, want %v", fields[0], fields[1:], value))
		}
		delete(want, fields[0])
	}
	for name := range want {
		errs = append(errs, fmt.Errorf("/proc/self/status has no %s", name))
	}
	for _, name := range []string{"HOME", "TMPDIR"} {
		dir, err := os.MkdirTemp(os.Getenv(name), "assert-")
		if err != nil || os.Getenv(name) == "" {
			errs = append(errs, fmt.Errorf("%s=%q cannot be used: %w", name, os.Getenv(name), err))
			continue
		}
		errs = append(errs, os.Remove(dir))
	}
	return errors.Join(errs...)
}
