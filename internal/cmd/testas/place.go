package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// pkg is one package to test.
type pkg struct {
	path  string // import path
	dir   string // its folder, relative to the module
	tests int    // number of test files
}

// list asks the go command for the packages, those with the most test files first, and the
// module's folder.
func list(ctx context.Context, goarch string, patterns []string) (module string, pkgs []pkg, err error) {
	const format = "{{.Module.Dir}}\t{{.Dir}}\t{{.ImportPath}}\t{{len .TestGoFiles}}\t{{len .XTestGoFiles}}"
	args := []string{"list", "-f", format}
	if goarch != runtime.GOARCH {
		args = append(args, "-e") // a package may be nothing without cgo
	}
	out, err := goFor(ctx, goarch, append(args, patterns...)...)
	if err != nil {
		return "", nil, err
	}
	for line := range strings.Lines(out) {
		var p pkg
		var in, outside int
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 5 {
			return "", nil, fmt.Errorf("go list says %q", line)
		}
		if _, err := fmt.Sscan(fields[3]+" "+fields[4], &in, &outside); err != nil {
			return "", nil, err
		}
		module, p.path, p.tests = fields[0], fields[2], in+outside
		if p.dir, err = filepath.Rel(module, fields[1]); err != nil {
			return "", nil, err
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) == 0 {
		return "", nil, errors.New("no packages")
	}
	// A package whose tests take minutes and that starts last keeps everybody waiting.
	slices.SortStableFunc(pkgs, func(a, b pkg) int { return b.tests - a.tests })
	return module, pkgs, nil
}

// goCommand runs the go command and returns its standard output. The error has
// what it said.
func goCommand(ctx context.Context, args ...string) (string, error) {
	return goFor(ctx, runtime.GOARCH, args...)
}

// goFor is goCommand for an architecture. There is no cgo for another one.
func goFor(ctx context.Context, goarch string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	if goarch != runtime.GOARCH {
		cmd.Env = append(os.Environ(), "GOARCH="+goarch, "CGO_ENABLED=0")
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return string(out), nil
}

// copyTree copies a module so that everybody may read it: folders and programs
// are 0755, other files 0644, links stay links. Version control is left out,
// and so is what make builds.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		switch {
		case rel == "bin", d.Name() == ".git" && d.IsDir():
			return filepath.SkipDir
		case d.Name() == ".git":
			return nil
		case d.IsDir():
			return mkdir(at, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, at)
		case d.Type().IsRegular():
			return copyFile(path, at)
		}
		return nil
	})
}

// copyFile copies one regular file to a name that is not there yet.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info.Mode()&0o100 != 0 {
		mode = 0o755
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Chmod(mode) // whatever the umask
}

// mkdir makes a folder with exactly this mode.
func mkdir(path string, mode fs.FileMode) error {
	if err := os.Mkdir(path, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}
