package main

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"brainbox/internal/vmjob"
)

// options are what the command line says.
type options struct {
	suites             []string
	arch, userland     string
	cache, mirror, out string
	only               string
	timeout            time.Duration
	megabytes, cpus    int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := start(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "vm:", err)
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("vm", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.arch, "arch", "amd64", "`ARCHITECTURE` of the machines: amd64 or arm64")
	flags.StringVar(&o.userland, "userland", "trixie", "`SUITE` that the guest's programs are from")
	flags.StringVar(&o.cache, "cache", "", "`FOLDER` for packages and images; default brainbox-vm in the user's cache folder")
	flags.StringVar(&o.mirror, "mirror", "", "`ADDRESS` of a Debian mirror; default that of this machine's apt")
	flags.StringVar(&o.out, "out", "", "`FOLDER` that the logs are written to; default none")
	flags.StringVar(&o.only, "only", "", "run only these `PARTS`, separated by commas: start, limit, or tests by their name or its first word")
	flags.DurationVar(&o.timeout, "timeout", 3*time.Hour, "time limit of one machine")
	flags.IntVar(&o.megabytes, "memory", 3072, "`MEBIBYTES` of a machine")
	flags.IntVar(&o.cpus, "cpus", 2, "`PROCESSORS` of a machine")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.suites = flags.Args()
	if len(o.suites) == 0 {
		return o, errors.New("no suites; usage: vm [FLAGS] SUITE [SUITE]")
	}
	return o, nil
}

// start runs one machine for each suite, one after the other.
func start(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.cache == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		o.cache = filepath.Join(base, "brainbox-vm")
	}
	if o.mirror == "" {
		if o.mirror, err = debianMirror(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for _, name := range o.suites {
		if err := o.suite(ctx, name, stdout); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// suite makes and runs one machine, and judges what came back.
func (o *options) suite(ctx context.Context, name string, w io.Writer) error {
	s, err := openSuite(ctx, o.cache, o.mirror, name, o.arch)
	if err != nil {
		return err
	}
	k, err := fetchKernel(ctx, s, o.cache)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "vm: %s: Linux %s\n", name, k.release)
	u, err := openSuite(ctx, o.cache, o.mirror, o.userland, o.arch)
	if err != nil {
		return err
	}
	m := &machine{arch: o.arch, kernel: k.image, cpus: o.cpus, megabytes: o.megabytes}
	if m.root, err = userland(ctx, u, o.cache); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "brainbox-vm-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	jobs := plan(o.only, mustRun(name))
	if err := m.images(ctx, k, dir, jobs); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	_, err = m.run(limited, w)
	report, outputs, readErr := readResults(m.results)
	if readErr != nil {
		return errors.Join(err, fmt.Errorf("no results: %w", readErr))
	}
	return errors.Join(err, o.judge(name, k, jobs, report, outputs, w))
}

// images makes the machine's initramfs, payload and empty disk for the results.
func (m *machine) images(ctx context.Context, k *kernel, dir string, jobs []vmjob.Job) error {
	if err := goBuild(ctx, m.arch, tag, dir, "./internal/cmd/vminit"); err != nil {
		return err
	}
	m.initramfs = filepath.Join(dir, "initramfs")
	if err := k.initramfs(ctx, filepath.Join(dir, "vminit"), m.initramfs); err != nil {
		return err
	}
	m.payload = filepath.Join(dir, "payload.ext4")
	if err := payload(ctx, m.arch, filepath.Join(dir, "payload"), m.payload, jobs); err != nil {
		return err
	}
	m.results = filepath.Join(dir, "results")
	return errors.Join(os.WriteFile(m.results, nil, 0o600), os.Truncate(m.results, 256<<20))
}

// readResults reads the archive on the disk for the results.
func readResults(file string) (vmjob.Report, map[string]string, error) {
	var report vmjob.Report
	f, err := os.Open(file)
	if err != nil {
		return report, nil, err
	}
	defer f.Close()
	outputs := map[string]string{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return report, nil, err
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return report, nil, err
		}
		outputs[strings.TrimPrefix(h.Name, "./")] = string(text)
	}
	text, ok := outputs[vmjob.Results]
	if !ok {
		return report, nil, errors.New("the machine ended before its last job")
	}
	return report, outputs, json.Unmarshal([]byte(text), &report)
}

// mustRun are the words of BRAINBOX_TEST_MUST_RUN for a suite's kernel: what it is known to
// have. Of a later one than those below as much is asked as of the last.
func mustRun(suite string) string {
	const all = "seccomp,notify,userns,netns,cgroup-kill,cgroup-memory,tty,git,"
	switch suite {
	case "bullseye": // Linux 5.10
		return "seccomp,cgroup-memory,tty,git"
	case "bookworm": // 6.1
		return all + "landlock:2"
	case "trixie", "bookworm-backports": // 6.12
		return all + "landlock:6"
	case "forky": // 7.2
		return all + "landlock:10"
	}
	return all + "landlock:11"
}
