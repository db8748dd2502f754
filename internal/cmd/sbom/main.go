package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// line is one program's use of one component.
type line struct{ program, name, version, sum string }

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom BIN OUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(bin, out string) error {
	text, err := os.ReadFile("NOTICE")
	if err != nil {
		return err
	}
	lines, err := components(bin)
	if err != nil {
		return err
	}
	list, err := bill(lines, licenses(string(text)))
	if err != nil {
		return err
	}
	texts, err := licenseTexts(lines)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(out, "sbom.txt"), []byte(list), 0o644),
		os.WriteFile(filepath.Join(out, "licenses.txt"), texts, 0o644))
}

// licenses reads the list in NOTICE: two spaces, a name, two or more spaces, a licence.
func licenses(notice string) map[string]string {
	list := map[string]string{}
	for text := range strings.Lines(notice) {
		text, ok := strings.CutPrefix(strings.TrimRight(text, "\n"), "  ")
		name, license, found := strings.Cut(text, "  ")
		if ok && found {
			list[name] = strings.TrimSpace(license)
		}
	}
	return list
}

const (
	standard = "Go standard library"
	seccomp  = "libseccomp"
	libc     = "glibc"
)

// components asks every program in the folder.
func components(bin string) ([]line, error) {
	programs, err := filepath.Glob(filepath.Join(bin, "brainbox*"))
	if err != nil || len(programs) == 0 {
		return nil, fmt.Errorf("no programs in %q: %w", bin, err)
	}
	var all []line
	for _, path := range programs {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, err
		}
		program := filepath.Base(path)
		all = append(all, line{program: program, name: standard, version: info.GoVersion, sum: "-"})
		for _, m := range info.Deps {
			if m.Replace != nil {
				return nil, fmt.Errorf("%s: %s is replaced", program, m.Path)
			}
			all = append(all, line{program: program, name: m.Path, version: m.Version, sum: m.Sum})
		}
		if !slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "CGO_ENABLED" && s.Value == "1" }) {
			continue
		}
		c, err := cLibraries(path)
		if err != nil {
			return nil, err
		}
		all = append(all, c...)
	}
	return all, nil
}

// cLibraries are those in brainbox-seccomp, the only program with cgo.
func cLibraries(path string) ([]line, error) {
	program := filepath.Base(path)
	if program != "brainbox-seccomp" {
		return nil, fmt.Errorf("%s was built with cgo: what C libraries it has is not known here", program)
	}
	cmd := exec.Command(path, "--protocol=1")
	cmd.Stdin = strings.NewReader(`{"defaultAction":"SCMP_ACT_ALLOW"}`)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	_, rest, ok := strings.Cut(string(out), `"libseccomp":"`)
	version, _, closed := strings.Cut(rest, `"`)
	if !ok || !closed {
		return nil, fmt.Errorf("%s does not say the version of libseccomp", program)
	}
	all := []line{{program: program, name: seccomp, version: version, sum: "-"}}
	header := exec.Command("cc", "-E", "-P", "-")
	header.Stdin = strings.NewReader("#include <features.h>\nversion __GLIBC__ __GLIBC_MINOR__\n")
	if out, err = header.Output(); err != nil {
		return nil, fmt.Errorf("cc: %w", err)
	}
	fields := strings.Fields(string(out))
	if n := len(fields); n >= 3 && fields[n-3] == "version" && fields[n-1] != "__GLIBC_MINOR__" {
		return append(all, line{program: program, name: libc, version: fields[n-2] + "." + fields[n-1], sum: "-"}), nil
	}
	return nil, errors.New("the C library is not glibc: NOTICE has no licence for it")
}

// bill is sbom.txt.
func bill(lines []line, licenses map[string]string) (string, error) {
	var b strings.Builder
	b.WriteString("# What each program is linked with: program, component, version, sum, licence (SPDX).\n" +
		"# Written by make sbom from the build information of the programs, and from NOTICE.\n")
	var missing []string
	for _, l := range lines {
		license := licenses[l.name]
		if license == "" {
			missing = append(missing, l.name)
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\n", l.program, l.name, l.version, l.sum, license)
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("NOTICE does not name %q", missing)
	}
	return b.String(), nil
}

// licenseTexts is licenses.txt: one text for each component.
func licenseTexts(lines []line) ([]byte, error) {
	seen := map[string]bool{}
	var b bytes.Buffer
	for _, l := range lines {
		if seen[l.name] {
			continue
		}
		seen[l.name] = true
		paths, err := textsOf(l)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "======== %s %s: %s\n\n%s\n", l.name, l.version, filepath.Base(path), bytes.TrimRight(text, "\n"))
		}
	}
	return b.Bytes(), nil
}

// textsOf finds the files with the licence of a component. Those of the C libraries are
// where Debian puts them; elsewhere the system has them in its own place.
func textsOf(l line) ([]string, error) {
	var dir string
	switch l.name {
	case seccomp:
		found, _ := filepath.Glob("/usr/share/doc/libseccomp-dev/copyright")
		return found, nil
	case libc:
		found, _ := filepath.Glob("/usr/share/doc/libc6-dev/copyright")
		return found, nil
	case standard:
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return nil, fmt.Errorf("go env: %w", err)
		}
		dir = strings.TrimSpace(string(out))
	default:
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", l.name).Output()
		if err != nil {
			return nil, fmt.Errorf("go list %s: %w", l.name, err)
		}
		dir = strings.TrimSpace(string(out))
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		name := strings.ToLower(e.Name())
		if e.Type().IsRegular() && (strings.HasPrefix(name, "licen") || strings.HasPrefix(name, "copying") || strings.HasPrefix(name, "notice")) {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no text of a licence in %q", l.name, dir)
	}
	return found, nil
}
