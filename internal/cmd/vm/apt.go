package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// keyring is Debian's own, from the package debian-archive-keyring: a package that is not
// signed with it is not taken.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// fresh is how long the lists of packages are used without asking for new ones.
const fresh = 24 * time.Hour

// suite is one release of Debian for one architecture, in a private root of apt's: nothing of
// it is installed here, and nothing of this machine's packages is seen.
type suite struct {
	name, arch string
	dir        string // lists and packages
}

// debianMirror is where this machine's own apt takes Debian from.
func debianMirror(ctx context.Context) (string, error) {
	out, err := output(ctx, "apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)")
	if err != nil {
		return "", err
	}
	if uri := mirrorOf(out); uri != "" {
		return uri, nil
	}
	return "", errors.New("this machine's apt has no source of Debian: name a mirror with -mirror")
}

// mirrorOf finds Debian's archive, and not that of its security updates alone.
func mirrorOf(targets string) string {
	for line := range strings.Lines(targets) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) == 3 && f[0] == "Debian" && f[1] == "Debian" {
			return f[2]
		}
	}
	return ""
}

// openSuite makes the private root and reads the lists of packages where they are old.
func openSuite(ctx context.Context, cache, mirror, name, arch string) (*suite, error) {
	s := &suite{name: name, arch: arch, dir: filepath.Join(cache, "apt", name+"-"+arch)}
	for _, dir := range []string{"lists/partial", "archives/partial", "none/partial"} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o755); err != nil {
			return nil, err
		}
	}
	line := fmt.Sprintf("deb [signed-by=%s arch=%s] %s %s main\n", keyring, arch, mirror, name)
	if err := os.WriteFile(filepath.Join(s.dir, "sources.list"), []byte(line), 0o644); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(s.dir, "status"), nil, 0o644); err != nil {
		return nil, err
	}
	stamp := filepath.Join(s.dir, "updated")
	if info, err := os.Stat(stamp); err == nil && time.Since(info.ModTime()) < fresh {
		return s, nil
	}
	if _, err := s.apt(ctx, "apt-get", "-q", "update"); err != nil {
		return nil, err
	}
	return s, os.WriteFile(stamp, nil, 0o644)
}

// apt runs one of apt's programs in the private root.
func (s *suite) apt(ctx context.Context, program string, args ...string) (string, error) {
	return s.aptIn(ctx, filepath.Join(s.dir, "archives"), program, args...)
}

// aptIn is apt with another folder for packages: what is in it already is not asked for.
func (s *suite) aptIn(ctx context.Context, archives, program string, args ...string) (string, error) {
	all := []string{}
	for _, o := range []string{
		"APT::Architecture=" + s.arch, "APT::Architectures=" + s.arch, "APT::Sandbox::User=",
		"APT::Install-Recommends=false", "Acquire::Languages=none", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
		"Dir::State=" + s.dir, "Dir::State::status=" + s.dir + "/status", "Dir::State::lists=" + s.dir + "/lists",
		"Dir::Cache=" + s.dir, "Dir::Cache::archives=" + archives,
		"Dir::Etc::sourcelist=" + s.dir + "/sources.list", "Dir::Etc::sourceparts=-", "Dir::Etc::preferencesparts=-",
		"Debug::NoLocking=true",
	} {
		all = append(all, "-o", o)
	}
	return outputIn(ctx, archives, program, append(all, args...)...)
}

// fetch downloads packages and all that they depend on, and returns their files.
func (s *suite) fetch(ctx context.Context, names ...string) ([]string, error) {
	args := append([]string{"-qq", "-y", "--print-uris", "install"}, names...)
	out, err := s.aptIn(ctx, filepath.Join(s.dir, "none"), "apt-get", args...)
	if err != nil {
		return nil, err
	}
	files := fileNames(out)
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no package of %q", s.name, names)
	}
	args[2] = "--download-only"
	if _, err := s.apt(ctx, "apt-get", args...); err != nil {
		return nil, err
	}
	var paths []string
	for _, name := range files {
		paths = append(paths, filepath.Join(s.dir, "archives", name))
	}
	return paths, nil
}

// fileNames reads what --print-uris says: the address in quotes, the file's name, its size
// and its sum.
func fileNames(out string) []string {
	var names []string
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) >= 3 && strings.HasPrefix(f[0], "'") {
			names = append(names, f[1])
		}
	}
	return names
}

// download downloads one package without what it depends on, and returns its file.
func (s *suite) download(ctx context.Context, name string) (string, error) {
	out, err := s.aptIn(ctx, filepath.Join(s.dir, "none"), "apt-get", "-qq", "--print-uris", "download", name)
	if err != nil {
		return "", err
	}
	files := fileNames(out)
	if len(files) != 1 {
		return "", fmt.Errorf("%s: %q is %d packages", s.name, name, len(files))
	}
	path := filepath.Join(s.dir, "archives", files[0])
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	_, err = s.apt(ctx, "apt-get", "-qq", "download", name)
	return path, err
}

// field is one field of a package's newest record.
func (s *suite) field(ctx context.Context, name, field string) (string, error) {
	out, err := s.apt(ctx, "apt-cache", "show", "--no-all-versions", name)
	if err != nil {
		return "", err
	}
	return fieldOf(out, field), nil
}

func fieldOf(record, field string) string {
	lines := bufio.NewScanner(strings.NewReader(record))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), field+": "); ok {
			return value
		}
	}
	return ""
}

func output(ctx context.Context, program string, args ...string) (string, error) {
	return outputIn(ctx, "", program, args...)
}

// outputIn runs a program and returns what it prints; what it says of an error is the error.
func outputIn(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", program, err, bytes.TrimSpace(errs.Bytes()))
	}
	return out.String(), nil
}
