package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/needs"
	"brainbox/launcher"
)

// protectedText is what the policy says now.
func (w *workerWorld) protectedText(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(w.vars["P"])
	must(t, err)
	return string(text)
}

// TestWorkerIsConfinedFromItsFirstInstruction: bk/M30, bk/M31. An extension that is loaded
// before the agent does anything is as confined as the agent. The mutation is a host that
// loads it itself.
func TestWorkerIsConfinedFromItsFirstInstruction(t *testing.T) {
	for _, c := range []struct {
		name      string
		mutations []string
		reaches   bool
	}{
		{"loaded inside", nil, false},
		{"without the mount", []string{layerMount}, false},
		{"without Landlock", []string{layerLandlock}, false},
		{"loaded by the host", []string{"init-in-host"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkerWorld(t)
			ext := filepath.Join(w.repo, "ext.sh")
			must(t, os.WriteFile(ext, []byte("#!/bin/sh\necho taken >"+w.vars["P"]+" 2>/dev/null\nexit 0\n"), 0o755))
			k := w.worker()
			k.Command = []string{"/bin/sh", "-c", ext + "; " + ext + "; exec " + program("victim")}
			cfg := hostConfig{Worker: k, Init: ext}
			if c.mutations != nil {
				cfg.mutations = append([]string{"skip-probe"}, c.mutations...)
			}
			s := w.start(t, cfg)
			if got := s.ask(t, w.fill("run /bin/sh "+ext+" ; write {S}/f 0x40 x")); got != "ok" { // a tool of the agent's, too
				t.Errorf("control: %q", got)
			}
			s.done()
			if taken := w.protectedText(t) != policyText; taken != c.reaches {
				t.Errorf("the policy is %q", w.protectedText(t))
			}
		})
	}
}

// TestLateLandlockIsNone: bk/M32, the negative control. What is open before the confinement
// stays open through it, which is why a worker is confined before it exists.
func TestLateLandlockIsNone(t *testing.T) {
	w := newWorkerWorld(t)
	if got := bare(t, w.root).ask(t, w.fill(self("late {P}"))); got != "ok again: permission denied" {
		t.Errorf("%q", got)
	}
	if w.protectedText(t) == policyText {
		t.Error("the descriptor did not escape: this control shows nothing")
	}
}

// TestForkWithoutExecIsNone: bk/M14, its mutation. A start without execve(2) would share
// what the host has mapped.
func TestForkWithoutExecIsNone(t *testing.T) {
	w := newWorkerWorld(t)
	if got := bare(t, w.root).ask(t, w.fill("sharedfork {P}")); got != "ok forked" {
		t.Errorf("%q", got)
	}
	if w.protectedText(t) == policyText {
		t.Error("the mapping was not shared: this control shows nothing")
	}
}

// TestWorkerWritesStayInScratch: bk/M40, and bk/WP9 for a host that is refused.
func TestWorkerWritesStayInScratch(t *testing.T) {
	for _, c := range []struct {
		name      string
		mutations []string
		reaches   bool
	}{
		{"scratch", nil, false},
		{"a route out, without the mount", []string{"host-scratch"}, false},
		{"a route out", []string{"host-scratch", layerLandlock}, true},
	} {
		t.Run("bk/M40 "+c.name, func(t *testing.T) {
			w := newWorkerWorld(t)
			cfg := hostConfig{Worker: w.worker()}
			if c.mutations != nil {
				cfg.mutations = append([]string{"skip-probe"}, c.mutations...)
			}
			s := w.start(t, cfg)
			s.ask(t, "cwd")
			before := w.manifest(t)
			got := s.ask(t, w.fill("write {S}/out 0x40 out ; read {S}/out"))
			if want := `ok "out"`; got != want && (c.mutations == nil || c.reaches) {
				t.Errorf("writing scratch: %q", got)
			}
			s.done()
			if changed := cmp.Diff(before, w.manifest(t)) != ""; changed != c.reaches {
				t.Errorf("the outside changed: %v, want %v", changed, c.reaches)
			}
		})
	}
}

// TestWorkerNeedsItsProbe: bk/M41, bk/WP9. A worker that could write to the repository is
// not started in any kind of turn, unless the probe is skipped.
func TestWorkerNeedsItsProbe(t *testing.T) {
	broken := []string{layerMount, layerLandlock}
	for _, turn := range []launcher.Turn{launcher.TurnInteractive, launcher.TurnVoice, launcher.TurnAutonomous} {
		for _, skip := range []bool{false, true} {
			t.Run(fmt.Sprintf("bk/M41 %v, skipped %v", turn, skip), func(t *testing.T) {
				w := newWorkerWorld(t)
				cfg := hostConfig{Worker: w.worker(), Turn: turn, mutations: broken}
				if skip {
					cfg.mutations = append([]string{"skip-probe"}, broken...)
				}
				s := w.start(t, cfg)
				first := s.ask(t, w.fill("write {P} 0x400 x"))
				if !skip {
					readRefusal(t, first)
				}
				if ran := !strings.HasPrefix(first, `{"class":`); ran != skip {
					t.Errorf("the agent ran: %v", ran)
				}
				s.done()
				if changed := w.protectedText(t) != policyText; changed != skip {
					t.Errorf("the policy is %q", w.protectedText(t))
				}
			})
		}
	}
}

// TestWorkerLimits: bk/M43. Each attack is small, and is let through in full where the limit
// is left out: it is bounded by itself.
func TestWorkerLimits(t *testing.T) {
	limits := launcher.WorkerLimits{Scratch: 1 << 20, ScratchFiles: 100, FileSize: 256 << 10}
	if os.Geteuid() != 0 {
		limits.Processes = 40
	}
	for _, c := range []struct {
		name, attempt, held string
		user                bool
	}{
		{"size of a file", "fill {S}/big 524288", "errno EFBIG", false},
		{"files in scratch", "files {S} 400", "errno ENOSPC", false},
		{"processes", "forks 120", "ok started ", true},
	} {
		for _, without := range []bool{false, true} {
			t.Run(fmt.Sprintf("bk/M43 %s, without %v", c.name, without), func(t *testing.T) {
				if c.user {
					needs.User(t) // the kernel does not count root's
				}
				w := newWorkerWorld(t)
				k := w.worker()
				k.Limits = limits
				cfg := hostConfig{Worker: k}
				if without {
					cfg.mutations = []string{"skip-probe", "no-limits"}
				}
				s := w.start(t, cfg)
				got := s.ask(t, w.fill(self(c.attempt)))
				all := got == "ok ok" || got == "ok started 120"
				if all != without || !without && !strings.HasPrefix(got, c.held) {
					t.Errorf("%s: %q", c.attempt, got)
				}
				s.done()
			})
		}
	}
	t.Run("bk/M43 size of scratch", func(t *testing.T) {
		for _, without := range []bool{false, true} {
			w := newWorkerWorld(t)
			k := w.worker()
			k.Limits = launcher.WorkerLimits{Scratch: 1 << 20}
			cfg := hostConfig{Worker: k}
			if without {
				cfg.mutations = []string{"skip-probe", "no-limits"}
			}
			s := w.start(t, cfg)
			got := s.ask(t, w.fill(self("fill {S}/big 2097152")))
			if want := map[bool]string{false: "errno ENOSPC at 0", true: "ok ok"}[without]; got != want {
				t.Errorf("without the limit %v: %q", without, got)
			}
			s.done()
		}
	})
}

// TestWorkerLines: bk/M44. A line that is too long, or has no end, ends the worker with an
// error of its own type.
func TestWorkerLines(t *testing.T) {
	long := fmt.Sprint(launcher.MaxWorkerLine + 4<<20) // the worker waits with the rest of it
	for _, c := range []struct {
		name, attempt, want string
		mutations           []string
	}{
		{"lines", "cwd", "lines=1 longest=", nil},
		{"a line that is too long", "long " + long, `lines=0 longest=0 end="launcher: worker's output: a line of more than 16777216 bytes" status=137`, nil},
		{"a tail", "tail {\"unfinished\":", `lines=0 longest=0 end="launcher: worker's output: it ends within a line" status=`, nil},
		{"a line that is too long, without the cap", "long " + long, `lines=1 longest=20971523 end="EOF" status=0`, []string{"long-lines"}},
	} {
		t.Run("bk/M44 "+c.name, func(t *testing.T) {
			w := newWorkerWorld(t)
			k := w.worker()
			k.Command = append([]string{program("victim")}, strings.Fields(c.attempt)...)
			s := w.start(t, hostConfig{Worker: k, Mode: "lines", mutations: c.mutations})
			if got := s.line(t, c.attempt); !strings.HasPrefix(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
