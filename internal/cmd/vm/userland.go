package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// programs are the packages that the tests use in the guest, with all that they depend on.
var programs = []string{
	"base-files", "bash", "dash", "coreutils", "util-linux", "mount", "procps", "hostname", "findutils", "grep", "sed", "mawk",
	"tar", "gzip", "diffutils", "file", "libc-bin", "ca-certificates", "openssl", "git", "python3", "strace",
	"e2fsprogs", "iproute2", "psmisc", "patch", "make", "perl-base", "bubblewrap", "attr", "acl",
}

// size of the guest's root file system. The image is sparse.
const rootSize = "3G"

// userland makes the image of the guest's root file system, once for each list of packages.
func userland(ctx context.Context, s *suite, cache string) (string, error) {
	debs, err := s.fetch(ctx, programs...)
	if err != nil {
		return "", err
	}
	image := filepath.Join(cache, "root", s.name+"-"+s.arch+"-"+digest(debs)+".ext4")
	if _, err := os.Stat(image); err == nil {
		return image, nil
	}
	if err := os.MkdirAll(filepath.Dir(image), 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(filepath.Dir(image), "unpack-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := unpackAll(ctx, debs, dir); err != nil {
		return "", err
	}
	if err := complete(dir); err != nil {
		return "", err
	}
	if err := ext4(ctx, dir, image+".new", rootSize); err != nil {
		return "", err
	}
	return image, os.Rename(image+".new", image)
}

// layout changes with what this file does to a root besides unpacking it.
const layout = "1"

// digest names a list of packages by the names of their files, which have the versions.
func digest(debs []string) string {
	names := []string{layout}
	for _, d := range debs {
		names = append(names, filepath.Base(d))
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	return hex.EncodeToString(sum[:6])
}

// unpackAll unpacks the packages: first base-files, which has the links of / into /usr.
func unpackAll(ctx context.Context, debs []string, dir string) error {
	slices.SortStableFunc(debs, func(a, b string) int {
		first := func(s string) int {
			if strings.HasPrefix(filepath.Base(s), "base-files_") {
				return 0
			}
			return 1
		}
		return first(a) - first(b)
	})
	for _, deb := range debs {
		if _, err := output(ctx, "dpkg-deb", "-x", deb, dir); err != nil {
			return err
		}
	}
	return os.Chmod(dir, 0o755)
}

// complete adds what the packages' scripts would: users, alternatives and mount points.
func complete(dir string) error {
	at := func(name string) string { return filepath.Join(dir, name) }
	var errs []error
	for name, text := range map[string]string{
		"etc/passwd": "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:user:/home/user:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		"etc/group":  "root:x:0:\ntty:x:5:\nuser:x:1000:\nnogroup:x:65534:\n",
		"etc/shadow": "root:*:20000::::::\nuser:*:20000::::::\n", "etc/hostname": "vm\n",
		"etc/hosts": "127.0.0.1 localhost vm\n::1 localhost\n", "etc/resolv.conf": "nameserver 127.0.0.1\n",
		"etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n", "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
		"etc/ssl/certs/ca-certificates.crt": "",
	} {
		errs = append(errs, os.MkdirAll(filepath.Dir(at(name)), 0o755), os.WriteFile(at(name), []byte(text), 0o644))
	}
	errs = append(errs, os.Chmod(at("etc/shadow"), 0o600))
	for name, target := range map[string]string{"usr/bin/awk": "mawk", "usr/bin/sh": "dash"} {
		if _, err := os.Lstat(at(name)); err != nil {
			errs = append(errs, os.Symlink(target, at(name)))
		}
	}
	for _, name := range []string{"proc", "sys", "dev", "run", "tmp", "payload", "root", "home", "var/tmp", "srv", "mnt"} {
		errs = append(errs, os.MkdirAll(at(name), 0o755))
	}
	return errors.Join(errs...)
}

// ext4 makes an image of a folder.
func ext4(ctx context.Context, dir, image, size string) error {
	if err := os.RemoveAll(image); err != nil {
		return err
	}
	_, err := output(ctx, "mkfs.ext4", "-q", "-F", "-E", "root_owner=0:0", "-d", dir, image, size)
	if err != nil {
		return fmt.Errorf("image of %s: %w", filepath.Base(image), err)
	}
	return nil
}
