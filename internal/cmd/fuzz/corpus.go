package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	maxInputs = 20       // kept for one target
	maxBytes  = 20 << 10 // of them together
	maxLooked = 300      // inputs looked at for one target, the smallest first
	oneRun    = 20 * time.Second
)

// input is a file of the fuzzer's.
type input struct {
	name string
	text []byte
}

// keepCorpora keeps, for every target that matches, the inputs that reach something new.
func (r *runner) keepCorpora(ctx context.Context, all []target, match *regexp.Regexp, stderr io.Writer) error {
	words := ownWords(r.root)
	for _, t := range all {
		if !match.MatchString(t.String()) {
			continue
		}
		kept, of, err := r.keep(ctx, t, words)
		if err != nil {
			return err
		}
		fmt.Fprintf(stderr, "fuzz: %s: %d of %d inputs\n", t, kept, of)
	}
	return nil
}

// ownWords are what an input may not hold: names of this machine's.
func ownWords(root string) []string {
	words := []string{root}
	if host, err := os.Hostname(); err == nil && len(host) > 3 && host != "localhost" {
		words = append(words, host)
	}
	for _, name := range []string{"HOME", "GOCACHE", "GOPATH", "TMPDIR"} {
		if v := os.Getenv(name); len(v) > 5 {
			words = append(words, v)
		}
	}
	return words
}

// keep chooses the inputs of one target. What was kept before is chosen from again.
func (r *runner) keep(ctx context.Context, t target, words []string) (kept, of int, err error) {
	home := filepath.Join(r.root, t.Dir, "testdata", "fuzz", t.Func)
	candidates, err := readInputs(home, filepath.Join(r.cache, t.Dir, t.Func))
	if err != nil || len(candidates) == 0 {
		return 0, 0, err
	}
	candidates = usable(candidates, words)
	bin, err := r.build(ctx, t.Dir, coverFlag)
	if err != nil {
		return 0, 0, err
	}
	// The binary reads the corpus of its working folder, which must be the package's: each
	// input lies there while it is looked at. What was kept by hand (no hash for a name) stays.
	if err := removeHashed(home); err != nil {
		return 0, 0, err
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return 0, 0, err
	}
	defer func() { _ = os.Remove(home) }() // if it is empty
	seen, err := r.reach(ctx, bin, t, "")
	if err != nil {
		return 0, 0, err
	}
	size := 0
	for _, in := range candidates {
		path := filepath.Join(home, in.name)
		if kept == maxInputs || size+len(in.text) > maxBytes {
			break
		}
		if err := os.WriteFile(path, in.text, 0o644); err != nil {
			return kept, len(candidates), err
		}
		reached, err := r.reach(ctx, bin, t, in.name)
		if err == nil && adds(seen, reached) {
			kept, size = kept+1, size+len(in.text)
			continue
		}
		if err := errors.Join(ctx.Err(), os.Remove(path)); err != nil {
			return kept, len(candidates), err
		}
	}
	return kept, len(candidates), nil
}

var hashed = regexp.MustCompile(`^[0-9a-f]{16}$`)

func removeHashed(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if hashed.MatchString(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// readInputs reads the inputs with a hash for a name, each once, the smallest first.
func readInputs(dirs ...string) ([]input, error) {
	var all []input
	seen := map[string]bool{}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if !hashed.MatchString(e.Name()) || seen[e.Name()] {
				continue
			}
			seen[e.Name()] = true
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			all = append(all, input{e.Name(), text})
		}
	}
	slices.SortFunc(all, func(a, b input) int {
		if len(a.text) != len(b.text) {
			return len(a.text) - len(b.text)
		}
		return strings.Compare(a.name, b.name)
	})
	return all, nil
}

// usable leaves out what is large, what names this machine, and what is too much to look at.
func usable(all []input, words []string) []input {
	all = slices.DeleteFunc(all, func(in input) bool {
		return len(in.text) > maxBytes/4 || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(string(in.text), w) })
	})
	return all[:min(len(all), maxLooked)]
}

// reach runs one input, or without a name the seeds and what was kept by hand, and says what
// was reached: a block, and the power of ten of how often.
func (r *runner) reach(ctx context.Context, bin string, t target, name string) (map[string]bool, error) {
	ctx, stop := context.WithTimeout(ctx, oneRun)
	defer stop()
	profile := filepath.Join(r.bins, "profile")
	which := "^" + t.Func + "$"
	if name != "" {
		which += "/^" + name + "$"
	}
	cmd := exec.CommandContext(ctx, bin, "-test.run="+which, "-test.coverprofile="+profile)
	cmd.Dir = filepath.Join(r.root, t.Dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", t, name, err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	return parseProfile(string(text)), nil
}

// parseProfile reads a cover profile of mode count.
func parseProfile(text string) map[string]bool {
	reached := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		if i < 0 || strings.HasPrefix(line, "mode:") || line[i+1:] == "0" {
			continue
		}
		for n := min(len(line)-i-1, 3); n > 0; n-- { // the digits of how often
			reached[line[:i]+strings.Repeat("*", n)] = true
		}
	}
	return reached
}

// adds puts what was reached to what was seen, and says whether any of it is new.
func adds(seen, reached map[string]bool) bool {
	added := false
	for block := range reached {
		if !seen[block] {
			seen[block], added = true, true
		}
	}
	return added
}
