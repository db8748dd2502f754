package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// machine is what a virtual machine is made of.
type machine struct {
	arch                   string
	kernel, initramfs      string
	root, payload, results string // images
	cpus, megabytes        int
}

// emulator is qemu's program for an architecture, and what it needs to be told.
func emulator(arch string) (program string, args []string, console string, err error) {
	switch arch {
	case "amd64":
		return "qemu-system-x86_64", []string{"-machine", "q35"}, "ttyS0", nil
	case "arm64":
		return "qemu-system-aarch64", []string{"-machine", "virt"}, "ttyAMA0", nil
	}
	return "", nil, "", fmt.Errorf("no machine for the architecture %q", arch)
}

// accelerator is "kvm", the processor's own virtualization, where it is to be had. Else every
// instruction is emulated ("tcg"), which is slower by ten times or more. A machine that is
// virtual itself may have a /dev/kvm that can be opened without what it needs of the processor.
func accelerator(arch, host, cpuinfo string, opens func(name string) error) string {
	virtual := host == "arm64" || slices.ContainsFunc(strings.Fields(cpuinfo), func(word string) bool {
		return word == "vmx" || word == "svm"
	})
	if arch == host && virtual && opens("/dev/kvm") == nil {
		return "kvm"
	}
	return "tcg,thread=multi"
}

// here is the accelerator of this machine.
func here(arch string) string {
	cpuinfo, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		cpuinfo = nil
	}
	return accelerator(arch, runtime.GOARCH, string(cpuinfo), func(name string) error {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return f.Close()
	})
}

// command is qemu's command line.
func (m *machine) command(ctx context.Context) (*exec.Cmd, error) {
	program, args, console, err := emulator(m.arch)
	if err != nil {
		return nil, err
	}
	args = append(args,
		"-accel", here(m.arch), "-cpu", "max",
		"-smp", fmt.Sprint(m.cpus), "-m", fmt.Sprint(m.megabytes),
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-nic", "none", "-serial", "stdio",
		"-kernel", m.kernel, "-initrd", m.initramfs,
		"-append", "console="+console+" panic=-1 quiet loglevel=4 cgroup_no_v1=all",
		"-device", "virtio-rng-pci")
	for _, d := range []struct{ file, more string }{
		{m.root, ",snapshot=on"}, {m.payload, ",snapshot=on"}, {m.results, ""},
	} {
		args = append(args, "-drive", "if=virtio,format=raw,file="+d.file+d.more)
	}
	cmd := exec.CommandContext(ctx, "nice", append([]string{"-n", "5", program}, args...)...)
	cmd.WaitDelay = 10 * time.Second
	return cmd, nil
}

// run starts the machine and waits until it is off. What it says goes to w, and is kept.
func (m *machine) run(ctx context.Context, w io.Writer) (console string, err error) {
	cmd, err := m.command(ctx)
	if err != nil {
		return "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", err
	}
	var kept strings.Builder
	lines := bufio.NewScanner(io.TeeReader(out, &kept))
	for lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); text != "" {
			fmt.Fprintln(w, text)
		}
	}
	return kept.String(), errors.Join(lines.Err(), cmd.Wait())
}
