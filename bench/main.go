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

	"golang.org/x/sys/unix"
)

// options are what the command line says.
type options struct {
	place
	uid, rounds, long, warm int
	onlyStarts              bool
	only, into, tmpfs, tmp  string
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
	flag.StringVar(&o.only, "only", "", "measure only the `part` dirchain, connects, bridge, network or explain, into -page")
	flag.StringVar(&o.into, "page", "", "`file` whose part is replaced")
	flag.StringVar(&o.tmpfs, "tmpfs", "", "empty `folder` on a tmpfs")
	flag.StringVar(&o.tmp, "tmp", "", "TMPDIR of what is started: a `folder` of the user; -work has one else")
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
	part := map[string]func(io.Writer) error{
		"dirchain": o.dirchainPart, "connects": o.connectsPart, "bridge": o.bridgePart, "network": o.networkPart,
		"explain": o.explainPart,
	}[o.only]
	if part == nil {
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
	var text, ofCaller bytes.Buffer
	if o.uid != os.Getuid() {
		if o.only == "network" {
			if err := o.networkOfCaller(&ofCaller); err != nil {
				return err
			}
		}
		if err := giveUpRoot(o.uid); err != nil {
			return err
		}
	}
	if err := part(&text); err != nil {
		return err
	}
	whole, err := replacePart(old, o.only, append(text.Bytes(), ofCaller.Bytes()...))
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
	if o.tmp == "" {
		o.tmp = o.root + "/tmp"
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.root + "/home", "TMPDIR=" + o.tmp, "LANG=C.UTF-8"}
	for _, dir := range []string{"tmp", "home", "exec", "work"} {
		if err := os.Mkdir(filepath.Join(o.root, dir), 0o700); err != nil {
			return nil, err
		}
	}
	if o.execPolicy == "" {
		return env, nil
	}
	text := policyText(o.work, "", "", fmt.Sprintf("tmp_root = %q", o.root+"/exec"))
	return append(env, "BRAINBOX_EXEC_POLICY="+o.execPolicy), write(o.execPolicy, text)
}

// page measures and prints one section.
func (o *options) page(out io.Writer, s starter, env []string) error {
	names, commands := o.starts()
	got, err := s.interleave(names, commands, o.warm, o.rounds)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n## As uid %d\n\n%s TMPDIR is on %s.\n\nStarts, %d rounds:\n\n", os.Getuid(), machine(), fileSystem(o.tmp), o.rounds)
	table(out, startRows(got))
	if err := o.insidePage(out, s, env); err != nil {
		return err
	}
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

// insidePage measures what namespaces are needed for, where there are any.
func (o *options) insidePage(out io.Writer, s starter, env []string) error {
	names, commands, err := o.insideStarts(env)
	if err != nil {
		return err
	}
	got, err := s.interleave(names, commands, o.warm, o.rounds)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nStarts in namespaces, %d rounds:\n\n", o.rounds)
	table(out, insideRows(got))
	tree, err := o.treeRows(env)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe end of a tree, %d rounds:\n\n", o.long)
	table(out, tree)
	if o.onlyStarts {
		return nil
	}
	scan, err := o.scanRows()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe names of a tree on %s, %d rounds:\n\n", fileSystem(o.root), o.long)
	table(out, scan)
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

// fileSystem is the type of the one that a folder is on.
func fileSystem(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return err.Error()
	}
	switch uint32(st.Type) {
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	}
	return fmt.Sprintf("type 0x%x", uint32(st.Type))
}

func firstLine(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
