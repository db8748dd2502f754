package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// options are what the command line says.
type options struct {
	place
	uid, rounds, long, warm int
	onlyStarts              bool
	only, into, tmpfs       string
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "`folder` of brainbox, its siblings and the starter")
	flag.StringVar(&o.root, "work", "", "empty `folder` to work in")
	flag.StringVar(&o.execPolicy, "exec-policy", "", "`file` to write brainbox-exec's policy to")
	flag.IntVar(&o.uid, "uid", os.Getuid(), "become this user first")
	flag.IntVar(&o.rounds, "rounds", 100, "rounds of what is short; at least 30")
	flag.IntVar(&o.long, "long", 30, "rounds of what takes seconds; at least 30")
	flag.IntVar(&o.warm, "warm", 5, "rounds before, left out")
	flag.BoolVar(&o.onlyStarts, "starts", false, "measure only starts")
	flag.StringVar(&o.only, "only", "", "measure only the `part` dirchain, into -page")
	flag.StringVar(&o.into, "page", "", "`file` whose part is replaced")
	flag.StringVar(&o.tmpfs, "tmpfs", "", "empty `folder` on a tmpfs")
	flag.Parse()
	measure := func() error { return o.measure(os.Stdout) }
	if o.only != "" {
		measure = o.measurePart
	}
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// enough says whether there are rounds enough.
func (o *options) enough() error {
	if o.rounds < 30 || o.long < 30 {
		return fmt.Errorf("%d and %d rounds: fewer than 30 show nothing", o.rounds, o.long)
	}
	return nil
}

// measurePart measures one part, and puts it into the page. The page is read and
// written as the caller, the measuring is done as the user.
func (o *options) measurePart() error {
	if err := o.enough(); err != nil {
		return err
	}
	if o.only != "dirchain" {
		return fmt.Errorf("no part %q", o.only)
	}
	page, err := os.OpenFile(o.into, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer page.Close()
	old, err := io.ReadAll(page)
	if err != nil {
		return err
	}
	if o.uid != os.Getuid() {
		if err := giveUpRoot(o.uid); err != nil {
			return err
		}
	}
	var text bytes.Buffer
	if err := o.dirchainPart(&text); err != nil {
		return err
	}
	whole, err := replacePart(old, o.only, text.Bytes())
	if err != nil {
		return err
	}
	if _, err = page.WriteAt(whole, 0); err != nil {
		return err
	}
	return page.Truncate(int64(len(whole)))
}

func (o *options) measure(out io.Writer) error {
	err := o.enough()
	if err != nil {
		return err
	}
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	if o.root, err = filepath.EvalSymlinks(o.root); err != nil {
		return err
	}
	o.work = filepath.Join(o.root, "work")
	if o.uid != os.Getuid() {
		if err := giveUpRoot(o.uid); err != nil {
			return err
		}
	}
	env, err := o.prepare()
	if err != nil {
		return err
	}
	if err := o.fill(); err != nil {
		return err
	}
	process, err := newPipe(env, filepath.Join(o.bin, "starter"))
	if err != nil {
		return err
	}
	if err := o.page(out, starter{process}, env); err != nil {
		return err
	}
	return process.close()
}

// prepare makes the folders and the exec policy, and returns the environment of
// all that is measured.
func (o *options) prepare() ([]string, error) {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.root + "/home", "TMPDIR=" + o.root + "/tmp", "LANG=C.UTF-8"}
	for _, dir := range []string{"tmp", "home", "exec", "work"} {
		if err := os.Mkdir(filepath.Join(o.root, dir), 0o700); err != nil {
			return nil, err
		}
	}
	if o.execPolicy == "" {
		return env, nil
	}
	text := policyText(o.work, "", fmt.Sprintf("tmp_root = %q", o.root+"/exec"))
	return append(env, "BRAINBOX_EXEC_POLICY="+o.execPolicy), write(o.execPolicy, text)
}

// page measures and prints one section.
func (o *options) page(out io.Writer, s starter, env []string) error {
	names, commands := o.starts()
	got, err := s.interleave(names, commands, o.warm, o.rounds)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n## As uid %d\n\n%s\n\nStarts, %d rounds:\n\n", os.Getuid(), machine(), o.rounds)
	table(out, startRows(got))
	heap, err := o.heapRows(env)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nFrom a program, through the library, %d rounds:\n\n", o.rounds)
	table(out, heap)
	if o.onlyStarts {
		return nil
	}
	sizes, err := o.sizeRows()
	if err != nil {
		return err
	}
	fmt.Fprint(out, "\nSizes:\n\n")
	table(out, sizes)
	for _, w := range o.works() {
		rounds := o.rounds
		if w.long {
			rounds = o.long
		}
		names, commands := o.group(w.cmd)
		got, err := s.interleave(names, commands, min(o.warm, rounds/10), rounds)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\nSteady state, %d rounds:\n\n", rounds)
		table(out, workRows(w, got))
	}
	return nil
}

func table(out io.Writer, rows []row) {
	fmt.Fprintln(out, "| what | median | 95 % interval | bound | verdict |\n| --- | --- | --- | --- | --- |")
	for _, r := range rows {
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", r.what, r.figure, r.interval, r.bound, r.verdict)
	}
}

// machine says where the figures are from.
func machine() string {
	kernel := firstLine("/proc/sys/kernel/osrelease")
	cpu := "unknown processor"
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	version, err := exec.CommandContext(context.Background(), "/usr/bin/bwrap", "--version").Output()
	if err != nil {
		version = []byte("bwrap " + err.Error())
	}
	return fmt.Sprintf("Linux %s, %d processors (%s), %s, %s.", kernel, runtime.NumCPU(), cpu, runtime.Version(),
		strings.TrimSpace(string(version)))
}

func firstLine(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
