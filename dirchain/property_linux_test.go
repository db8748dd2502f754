package dirchain

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// model is what should be there: files with their text, directories with "/".
type model map[string]string

// sequence is one run of random operations on a root and on the model.
type sequence struct {
	r    *Root
	rand *rand.Rand
	m    model
	log  []string
}

// somePaths are few, so that operations meet.
var somePaths = []string{"a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/b", "c/x/y"}

func (s *sequence) path() string { return somePaths[s.rand.IntN(len(somePaths))] }

func (s *sequence) text() string {
	return strings.Repeat(string(rune('a'+s.rand.IntN(5))), s.rand.IntN(200))
}

func dirOf(path string) string {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)]
}

// ready: the directories above path are there, or can be made.
func (m model) ready(path string, parents bool) bool {
	for dir := dirOf(path); dir != ""; dir = dirOf(dir) {
		if is, ok := m[dir]; ok && is != "/" || !ok && !parents {
			return false
		}
	}
	return true
}

func (m model) put(path, is string) {
	for dir := dirOf(path); dir != ""; dir = dirOf(dir) {
		m[dir] = "/"
	}
	m[path] = is
}

// beneath is what lies in a directory.
func (m model) beneath(dir string) []string {
	var all []string
	for path := range m {
		if strings.HasPrefix(path, dir+"/") {
			all = append(all, path)
		}
	}
	return all
}

// step does one operation, and says whether it should and did succeed.
func (s *sequence) step(t *testing.T) (what string, should bool, err error) {
	path := s.path()
	is, there := s.m[path]
	file := there && is != "/"
	switch kind := s.rand.IntN(8); kind {
	case 0, 1, 2:
		return s.write(t, path)
	case 3:
		old, fresh := string(rune('a'+s.rand.IntN(5))), s.text()
		should = file && len(is) > 0 && occurrences([]byte(is), []byte(old)) == 1
		_, err = s.r.Edit(t.Context(), path, EditRequest{Old: []byte(old), New: []byte(fresh)})
		if should {
			s.m[path] = strings.Replace(is, old, fresh, 1)
		}
		return fmt.Sprintf("edit %s %q", path, old), should, err
	case 4:
		parents := s.rand.IntN(2) == 0
		should = s.m.ready(path, parents) && (!there || parents && is == "/")
		_, err = s.r.Mkdir(t.Context(), path, MkdirRequest{Parents: parents})
		if should {
			s.m.put(path, "/")
		}
		return fmt.Sprintf("mkdir %s %v", path, parents), should, err
	case 5:
		should = there && (file || len(s.m.beneath(path)) == 0)
		_, err = s.r.Remove(t.Context(), path, RemoveRequest{})
		if should {
			delete(s.m, path)
		}
		return "remove " + path, should, err
	case 6:
		if s.rand.IntN(3) > 0 { // less often, or little is left
			return "", true, nil
		}
		should = there && !file
		_, err = s.r.RemoveTree(t.Context(), path, RemoveTreeRequest{})
		if should {
			for _, p := range append(s.m.beneath(path), path) {
				delete(s.m, p)
			}
		}
		return "remove tree " + path, should, err
	}
	return s.rename(t, path)
}

func (s *sequence) write(t *testing.T, path string) (string, bool, error) {
	is, there := s.m[path]
	file := there && is != "/"
	mode, fresh, parents := Mode(s.rand.IntN(4)), s.text(), s.rand.IntN(2) == 0
	req := WriteRequest{Mode: mode, Content: text(fresh), Parents: parents}
	right := true
	if s.rand.IntN(3) == 0 {
		base := Sum([]byte(is))
		if s.rand.IntN(2) == 0 {
			base, right = Sum([]byte("something else")), mode == Create
		}
		req.Base = &base
	}
	should := s.m.ready(path, parents)
	switch mode {
	case Create:
		should = should && !there
	case Replace, Append:
		should = should && file && right
	case CreateOrReplace:
		should = should && (file && right || !there && req.Base == nil)
	}
	got, err := s.r.Write(t.Context(), path, req)
	if should {
		if mode == Append {
			fresh = is + fresh
		}
		if got.SHA256 != Sum([]byte(fresh)) || got.Created == there || got.Size != int64(len(fresh)) {
			t.Errorf("write told %+v", got)
		}
		s.m.put(path, fresh)
	}
	return fmt.Sprintf("write %s mode %d base %v parents %v", path, mode, req.Base != nil, parents), should, err
}

func (s *sequence) rename(t *testing.T, from string) (string, bool, error) {
	to, replace := s.path(), s.rand.IntN(2) == 0
	is, there := s.m[from]
	over, taken := s.m[to]
	should := there && s.m.ready(to, false) && !strings.HasPrefix(to+"/", from+"/") &&
		(!taken || replace && over != "/" && is != "/")
	_, err := s.r.Rename(t.Context(), from, to, RenameRequest{Replace: replace})
	if should {
		for _, p := range s.m.beneath(from) {
			s.m[to+p[len(from):]] = s.m[p]
			delete(s.m, p)
		}
		delete(s.m, from)
		s.m[to] = is
	}
	return fmt.Sprintf("rename %s to %s, replace %v", from, to, replace), should, err
}

// TestRandomSequences: after any sequence of operations what is there is what was
// told, and a refused one has changed nothing.
func TestRandomSequences(t *testing.T) {
	inMemory(t)
	seed := rand.Uint64()
	rounds, steps := 40, 150
	if testing.Short() {
		rounds = 5
	}
	both(t, func(t *testing.T, opts Options) {
		for round := range uint64(rounds) {
			dir := t.TempDir()
			s := &sequence{r: open(t, dir, opts), rand: rand.New(rand.NewPCG(seed, round)), m: model{}}
			for range steps {
				what, should, err := s.step(t)
				s.log = append(s.log, fmt.Sprintf("%s: %v", what, err))
				var typed *Error
				if (err == nil) != should || err != nil && !errors.As(err, &typed) {
					t.Errorf("%s: %v, want a success: %v", what, err, should)
				}
				if diff := cmp.Diff(map[string]string(s.m), there(t, dir)); diff != "" {
					t.Errorf("-model +there:\n%s", diff)
				}
				if t.Failed() {
					t.Fatalf("seed %d, round %d:\n%s", seed, round, strings.Join(s.log, "\n"))
				}
			}
			for _, path := range slices.Sorted(maps.Keys(s.m)) {
				got, err := s.r.Read(t.Context(), path, ReadRequest{})
				if is := s.m[path]; is == "/" != errors.Is(err, ErrNotRegular) || err == nil && string(got.Data) != is {
					t.Errorf("read %s: %q, %v, want %q", path, got.Data, err, is)
				}
			}
		}
	})
}

// there lists a directory in the terms of the model.
func there(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := inside(t, dir)
	for path, is := range all {
		if is == fs.ModeDir.String() {
			all[path] = "/"
		}
	}
	return all
}
