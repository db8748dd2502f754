package export

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// What runtimes mask and make read-only in every container: the same that docker does, there
// or not.
const (
	masked = "/proc/acpi /proc/asound /proc/interrupts /proc/kcore /proc/keys /proc/latency_stats /proc/sched_debug " +
		"/proc/scsi /proc/timer_list /proc/timer_stats /sys/devices/virtual/powercap /sys/firmware"
	readonly = "/proc/bus /proc/fs /proc/irq /proc/sys /proc/sysrq-trigger"
)

// linuxPart is all of the object linux but the filter.
func (b *bundle) linuxPart() (*specs.Linux, error) {
	l := &specs.Linux{
		Namespaces: []specs.LinuxNamespace{
			{Type: specs.MountNamespace},
			{Type: specs.PIDNamespace},
			{Type: specs.IPCNamespace},
			{Type: specs.UTSNamespace},
			{Type: specs.CgroupNamespace},
		},
		MaskedPaths: strings.Fields(masked), ReadonlyPaths: strings.Fields(readonly), RootfsPropagation: "private",
	}
	if b.Plan.OwnNetwork {
		l.Namespaces = append(l.Namespaces, specs.LinuxNamespace{Type: specs.NetworkNamespace})
	}
	b.ordinary(l)
	var err error
	l.Resources, err = b.resources()
	return l, err
}

// ordinary gives an ordinary user a namespace in which he is alone, and user 0: runtimes can
// start nobody else there. For root there is none: in one with root's own ids a runtime binds
// the host's devices, whose owner the program would be (chmod(2) of /dev/null, for all).
func (b *bundle) ordinary(l *specs.Linux) {
	place := b.Facts.Place
	if place.EUID == 0 {
		return
	}
	l.Namespaces = append(l.Namespaces, specs.LinuxNamespace{Type: specs.UserNamespace})
	l.UIDMappings = []specs.LinuxIDMapping{{HostID: uint32(place.EUID), Size: 1}}
	l.GIDMappings = []specs.LinuxIDMapping{{HostID: uint32(place.GID), Size: 1}}
}

// resources are the limits of the whole tree.
func (b *bundle) resources() (*specs.LinuxResources, error) {
	r := &specs.LinuxResources{}
	if b.Facts.Place.EUID == 0 { // else there is no group to hold it, and nothing to make one with
		r.Devices = []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}
	}
	if text := b.value("memory"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("memory: %w", err)
		}
		r.Memory = &specs.LinuxMemory{Limit: &n, Swap: &n} // both together: else the rest is swapped
	}
	if text := b.value("pids"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("pids: %w", err)
		}
		r.Pids = &specs.LinuxPids{Limit: &n}
	}
	if text := b.value("cpu"); text != "" {
		var quota int64
		var period uint64
		if _, err := fmt.Sscanf(text, "%d %d", &quota, &period); err != nil {
			return nil, fmt.Errorf("cpu: %w", err)
		}
		r.CPU = &specs.LinuxCPU{Quota: &quota, Period: &period}
	}
	return r, nil
}

// value is what a clause with a single entry is given.
func (b *bundle) value(clause string) string {
	for i := range b.Plan.Clauses {
		if c := &b.Plan.Clauses[i]; c.Name == clause && len(c.Entries) == 1 {
			return c.Entries[0].Value
		}
	}
	return ""
}
