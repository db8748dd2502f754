package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// soak is one run of this program.
type soak struct {
	o        options
	w        *world
	out      io.Writer
	mu       sync.Mutex
	counts   map[string]map[string]int // what was done → outcome → how often
	failures []string
	orphans  int
	first    tally
	peak     tally
	looks    int
	done     int
	begun    time.Time
}

// run makes steps until the time is over, and looks at what is left every now and then.
func (k *soak) run(ctx context.Context) error {
	k.begun, k.counts, k.peak = time.Now(), map[string]map[string]int{}, tally{}
	if k.o.step >= 0 {
		k.one(planStep(k.o.seed, k.o.step, k.w.root))
		return k.verdict()
	}
	ctx, cancel := context.WithTimeout(ctx, k.o.time)
	defer cancel()
	for n, warm := 0, true; ctx.Err() == nil; warm = false {
		until := time.Now().Add(k.o.look)
		if warm { // until every part was used once
			until = time.Now().Add(min(k.o.look, k.o.time/3))
		}
		n = k.some(ctx, n, until)
		if err := k.look(); err != nil {
			return errors.Join(err, k.verdict())
		}
	}
	return k.verdict()
}

// some makes steps, several at once, until the time has come or ctx ends. It returns the number of the next.
func (k *soak) some(ctx context.Context, n int, until time.Time) int {
	steps := make(chan step)
	var wg sync.WaitGroup
	for range k.o.atOnce {
		wg.Go(func() {
			for s := range steps {
				k.one(s)
			}
		})
	}
	for ; ctx.Err() == nil && time.Now().Before(until); n++ {
		s := planStep(k.o.seed, n, k.w.root)
		if k.o.only == "" || strings.Contains(s.words(), k.o.only) {
			steps <- s
		}
	}
	close(steps)
	wg.Wait()
	return n
}

// words are what a step is counted as, and found by.
func (s step) words() string {
	who := "root"
	if s.User {
		who = "user"
	}
	words := []string{s.Kind, s.Isolation, who, s.Program}
	if s.Operator != "" {
		words = append(words, "operator:"+s.Operator)
	}
	if s.Fault != "" {
		words = append(words, "fault:"+s.Fault)
	}
	if s.Target != "" {
		words = append(words, "kill:"+s.Target+":"+s.Kill.String())
	}
	for _, f := range s.Features {
		words = append(words, "with:"+f)
	}
	return strings.Join(append(words, "status:"+s.Status), " ")
}

func (k *soak) one(s step) {
	begun := time.Now()
	o := k.w.do(s)
	wrong := judge(s, o)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.done++
	k.orphans += o.Orphans
	class := o.class()
	for word := range strings.FieldsSeq(strings.ReplaceAll(s.words(), "user defined", "user-defined")) {
		if k.counts[word] == nil {
			k.counts[word] = map[string]int{}
		}
		k.counts[word][class]++
	}
	if k.o.verbose {
		fmt.Fprintf(k.out, "soak: step %d: %s after %s: %s, lines %q\n  %+v\n  %s\n", s.N, s.words(), s.After, class, o.Lines, time.Since(begun), trimmed(o.Said))
	}
	if len(wrong) > 0 {
		k.fail(fmt.Sprintf("step %d (%s, after %s): %s\n  said: %.4000s\n  again: make soak SOAKARGS='-seed %d -step %d -v'",
			s.N, s.words(), s.After, strings.Join(wrong, "; "), o.Said, k.o.seed, s.N))
	}
}

// fail keeps a failure and says it at once. The lock is held.
func (k *soak) fail(text string) {
	k.failures = append(k.failures, text)
	fmt.Fprintln(k.out, "soak: FAILED:", text)
}

// look counts what is there, now that nothing runs.
func (k *soak) look() error {
	k.looks++
	if err := k.w.sweep(k.looks); err != nil {
		return err
	}
	now, list, err := k.w.count()
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.first == nil {
		k.first = tally{}
		k.first.most(now)
		k.first["processes besides"] = 0 // nothing is to run, from the beginning
	}
	if more := grown(k.first, now); len(more) > 0 {
		k.fail(fmt.Sprintf("look %d after %d steps: growth: %s\n  %s", k.looks, k.done, strings.Join(more, "; "), strings.Join(list[:min(len(list), 40)], "\n  ")))
	}
	k.peak.most(now)
	k.races()
	fmt.Fprintf(k.out, "soak: %s: %d steps, %d failures, %d processes, %d files\n", time.Since(k.begun).Round(time.Second), k.done, len(k.failures), now["processes besides"], now["files"])
	return nil
}

// races reads the reports of the race detector that went to files.
func (k *soak) races() {
	reports, _ := filepath.Glob(k.w.base + "/race/*")
	for _, r := range reports {
		text, _ := os.ReadFile(r)
		if strings.Contains(string(text), "DATA RACE") {
			k.fail("a data race:\n" + string(text))
		}
		_ = os.Remove(r)
	}
}

// verdict is the error of the whole.
func (k *soak) verdict() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.races()
	if len(k.failures) > 0 {
		return fmt.Errorf("%d failures in %d steps, seed %d", len(k.failures), k.done, k.o.seed)
	}
	return nil
}

// report is what was done, as text. It names no folder of this machine.
func (k *soak) report(version, goVersion string) string {
	var b strings.Builder
	took := time.Since(k.begun)
	fmt.Fprintf(&b, "Soak, written by make soak. Version %s, %s, %s.\n", version, goVersion, k.begun.UTC().Format(time.DateOnly))
	fmt.Fprintf(&b, "Seed %d, %s, %d at once: %d steps (%.1f a second), %d looks, %d failures.\n", k.o.seed, took.Round(time.Second), k.o.atOnce, k.done, float64(k.done)/took.Seconds(), k.looks, len(k.failures))
	fmt.Fprintf(&b, "%d processes outlived a supervisor that SIGKILL ended in isolation landlock, or a wrapped program, which is declared.\n\n", k.orphans)
	fmt.Fprintf(&b, "%-34s %7s  %s\n", "what", "times", "outcomes")
	for _, word := range sortedKeys(k.counts) {
		sum, classes := 0, []string{}
		for _, class := range sortedKeys(k.counts[word]) {
			sum += k.counts[word][class]
			classes = append(classes, fmt.Sprintf("%s: %d", class, k.counts[word][class]))
		}
		fmt.Fprintf(&b, "%-34s %7d  %s\n", word, sum, strings.Join(classes, ", "))
	}
	fmt.Fprintf(&b, "\n%-34s %10s %10s %10s\n", "when nothing runs", "first", "most", "may grow")
	for _, name := range sortedKeys(k.peak) {
		fmt.Fprintf(&b, "%-34s %10d %10d %10d\n", name, k.first[name], k.peak[name], allowed(name))
	}
	for _, f := range k.failures {
		fmt.Fprintf(&b, "\nFAILED: %s\n", strings.ReplaceAll(firstLine(f), k.w.base, "BASE"))
	}
	return b.String()
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
