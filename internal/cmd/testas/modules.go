package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// modules gives the user a module cache with what go.mod asks for, filled from
// the caller's cache and, for what is missing there, by the caller's proxy. A
// test that builds programs needs it: the caller's own may be in root's home.
func (u user) modules(ctx context.Context) error {
	out, err := goCommand(ctx, "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return err
	}
	if err := mkdir(u.modCache(), 0o755); err != nil {
		return err
	}
	cache, proxy, _ := strings.Cut(strings.TrimSpace(out), "\n")
	cmd := exec.CommandContext(ctx, "go", "mod", "download")
	cmd.Dir = filepath.Join(u.base, "src")
	cmd.Env = append(os.Environ(), "GOMODCACHE="+u.modCache(), "GOFLAGS=-modcacherw",
		"GOPROXY=file://"+filepath.Join(cache, "cache", "download")+","+proxy)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go mod download: %w: %s", err, out)
	}
	return filepath.WalkDir(u.modCache(), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(u.uid), int(u.gid))
	})
}

func (u user) modCache() string { return filepath.Join(u.base, "mod") }

// handedOver are the caller's variables that are meant for tests, but those
// that this command sets itself.
func handedOver(environ []string) []string {
	var out []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "BRAINBOX_TEST_") && name != mustRun && name != testUID {
			out = append(out, entry)
		}
	}
	return out
}
