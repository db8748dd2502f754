package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"brainbox/internal/vmjob"
)

// tag keeps what only documentation needs out of the commands, as the Makefile does.
const tag = "urfave_cli_no_docs"

// shipped are the programs that the tests run (BRAINBOX_TEST_BIN, package integration).
var shipped = []string{
	"./cmd/brainbox", "./cmd/brainbox-exec", "./cmd/brainbox-host", "./cmd/brainbox-kill", "./cmd/brainbox-mcp",
	"./integration/victim", "./integration/rejected", "./integration/workerhost", "./integration/visitor",
}

// mutated are built with layers that can be left out, too.
var mutated = []string{"./cmd/brainbox", "./integration/workerhost"}

// payload makes the image with the programs, the tests, the sources that these look at, and
// the list of jobs.
func payload(ctx context.Context, arch, dir, image string, jobs []vmjob.Job) error {
	for _, name := range []string{"bin/mutated", "tests", "src"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	if err := errors.Join(
		goBuild(ctx, arch, tag, filepath.Join(dir, "bin"), shipped...),
		goBuild(ctx, arch, tag+" brainbox_mutation", filepath.Join(dir, "bin", "mutated"), mutated...),
		goTool(ctx, arch, true, "build", "-trimpath", "-buildvcs=false", "-tags", "netgo osusergo",
			"-ldflags", "-s -w -linkmode external -extldflags -static", "-o", filepath.Join(dir, "bin")+"/", "./cmd/brainbox-seccomp"),
		tests(ctx, arch, filepath.Join(dir, "tests"), jobs), sources(ctx, filepath.Join(dir, "src"))); err != nil {
		return err
	}
	text, err := json.MarshalIndent(vmjob.List{Jobs: jobs}, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, vmjob.ListFile), text, 0o644); err != nil {
		return err
	}
	return ext4(ctx, dir, image, "1G")
}

// goBuild builds static programs for the guest.
func goBuild(ctx context.Context, arch, tags, to string, packages ...string) error {
	return goTool(ctx, arch, false, append([]string{"build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", "-s -w", "-o", to + "/"}, packages...)...)
}

// tests builds the test binaries that the jobs name.
func tests(ctx context.Context, arch, to string, jobs []vmjob.Job) error {
	done := map[string]bool{}
	for _, j := range jobs {
		pkg, ok := packageOf(j)
		if !ok || done[pkg] {
			continue
		}
		done[pkg] = true
		file := filepath.Join(to, testFile(pkg))
		if err := goTool(ctx, arch, false, "test", "-c", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", file, "./"+pkg); err != nil {
			return err
		}
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("package %s has no tests", pkg)
		}
	}
	return nil
}

// goTool runs the go command for the guest. With cgo, for another architecture than this
// machine's, $CC has to be a compiler for it.
func goTool(ctx context.Context, arch string, cgo bool, args ...string) error {
	enabled := "CGO_ENABLED=0"
	if cgo {
		enabled = "CGO_ENABLED=1"
	}
	cmd := exec.CommandContext(ctx, "nice", append([]string{"go"}, args...)...)
	cmd.Env = append(os.Environ(), enabled, "GOOS=linux", "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// sources copies what git has of this module: tests read golden files and documents.
func sources(ctx context.Context, to string) error {
	list, err := output(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		if err := copyFile(name, filepath.Join(to, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copyFile copies a file, or a link as it is.
func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		return errors.Join(err, os.Symlink(target, to))
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o444)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
