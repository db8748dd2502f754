package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// kernel is an unpacked kernel of Debian's.
type kernel struct {
	release string // as uname(2) has it
	version string // of the package
	image   string
	modules string // the folder lib/modules/RELEASE
}

// metaPackage depends on the newest kernel. On amd64 there is one with few drivers, all that a
// virtual machine needs.
func metaPackage(arch string) string {
	if arch == "amd64" {
		return "linux-image-cloud-amd64"
	}
	return "linux-image-" + arch
}

// fetchKernel downloads and unpacks the suite's newest kernel.
func fetchKernel(ctx context.Context, s *suite, cache string) (*kernel, error) {
	meta := metaPackage(s.arch)
	depends, err := s.field(ctx, meta, "Depends")
	if err != nil {
		return nil, err
	}
	name := imageOf(depends)
	release, ok := strings.CutPrefix(name, "linux-image-")
	if !ok {
		return nil, fmt.Errorf("%s: %s depends on %q", s.name, meta, depends)
	}
	version, err := s.field(ctx, meta, "Version")
	if err != nil {
		return nil, err
	}
	k := &kernel{release: release, version: version}
	dir := filepath.Join(cache, "kernel", release+"_"+strings.ReplaceAll(version, ":", "-"))
	more, err := s.field(ctx, name, "Depends")
	if err != nil {
		return nil, err
	}
	if err := unpacked(ctx, s, append(partsOf(more, release), name), dir); err != nil {
		return nil, err
	}
	// The folders differ: with Linux 7 on they are those of /usr alone.
	for path, places := range map[*string][]string{
		&k.image:   {"boot/vmlinuz-" + release, "boot/vmlinux-" + release, "usr/lib/modules/" + release + "/vmlinuz", "usr/lib/linux/" + release + "/vmlinuz"},
		&k.modules: {"usr/lib/modules/" + release, "lib/modules/" + release},
	} {
		if *path = firstThere(dir, places); *path == "" {
			return nil, fmt.Errorf("%s has none of %q", name, places)
		}
	}
	return k, nil
}

// imageOf finds the kernel among what its meta package depends on.
func imageOf(depends string) string {
	for word := range strings.SplitSeq(depends, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(word), " ")
		if strings.HasPrefix(name, "linux-image-") {
			return name
		}
	}
	return ""
}

// partsOf lists the packages that a kernel's own one is split into, from Linux 7 on.
func partsOf(depends, release string) []string {
	var names []string
	for word := range strings.SplitSeq(depends, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(word), " ")
		if strings.HasPrefix(name, "linux-") && strings.HasSuffix(name, "-"+release) {
			names = append(names, name)
		}
	}
	return names
}

// unpacked unpacks packages into one folder, once.
func unpacked(ctx context.Context, s *suite, names []string, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	fresh := dir + ".new"
	if err := errors.Join(os.RemoveAll(fresh), os.MkdirAll(fresh, 0o755)); err != nil {
		return err
	}
	for _, name := range names {
		deb, err := s.download(ctx, name)
		if err != nil {
			return err
		}
		if _, err := output(ctx, "dpkg-deb", "-x", deb, fresh); err != nil {
			return err
		}
	}
	return os.Rename(fresh, dir)
}

// firstThere is the first of the names that is in dir.
func firstThere(dir string, names []string) string {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name)
		}
	}
	return ""
}
