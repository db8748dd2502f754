package conform

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"brainbox/bridge/envelope"
)

// judge looks at the files and the commands first, and when they tell enough at nothing
// else.
func (c *call) judge(s *Scene, res *envelope.Result) []Failure {
	var all []Failure
	fail := func(k Kind, format string, args ...any) {
		all = append(all, Failure{c.id, k, c.name(), fmt.Sprintf(format, args...)})
	}
	succeeds := !c.refused && !c.without
	if c.id == idTool && (res.Err == nil) != succeeds { // the assertion of this part
		fail(ErrorResult, "%s", told(res))
		return all
	}
	wantFiles, wantRan := start, []string(nil)
	if succeeds {
		wantFiles, wantRan = c.after(), c.runs
	}
	files, err := tree(s.Dir)
	if err != nil {
		fail(Receipt, "%v", err)
	}
	if !maps.Equal(files, wantFiles) {
		fail(Receipt, "the files are %s", difference(files, wantFiles))
	}
	if beside, err := names(filepath.Dir(s.Dir)); err != nil || !slices.Equal(beside, []string{"temp", "work"}) {
		fail(Receipt, "beside the root there are %q, %v", beside, err)
	}
	if got := s.Runner.(*runner).commands(); !slices.Equal(got, wantRan) {
		fail(Receipt, "%q was run, want %q", got, wantRan)
	}
	asked := s.Host.Asked()
	if !succeeds && asked != 0 {
		fail(Receipt, "the host was asked all the same")
	}
	if len(all) > 0 {
		return all
	}
	if (res.Err == nil) != succeeds {
		fail(ErrorResult, "%s", told(res))
	}
	if out := string(res.OutputJSON()); succeeds && !strings.Contains(out, c.says) {
		fail(Output, "it answers %s, want %s in it", out, c.says)
	}
	if succeeds && asked != c.host {
		fail(Output, "the host was asked %d times, want %d", asked, c.host)
	}
	if got := s.Person.(*person).count(); got != c.asked {
		fail(Output, "a person was asked %d times, want %d", got, c.asked)
	}
	return all
}

// told is a result in a few words.
func told(res *envelope.Result) string {
	if res.Err == nil {
		return "the call succeeds"
	}
	return fmt.Sprintf("%s: %s: %s", res.Status, res.Err.Code, res.Err.Message)
}

// fill makes a directory of files. A name that ends in a slash is a directory.
func fill(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else if err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tree is a directory as fill takes it: every file, and every directory that is empty.
func tree(dir string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, dir+"/")
		switch {
		case err != nil:
			return err
		case e.Type().IsRegular():
			text, err := os.ReadFile(path)
			all[name] = string(text)
			return err
		case !e.IsDir():
			return errors.New(name + " is neither file nor directory")
		}
		entries, err := os.ReadDir(path)
		if len(entries) == 0 {
			all[name+"/"] = ""
		}
		return err
	})
	return all, err
}

// names of what is in a directory.
func names(dir string) (all []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all, err
}

// difference is what is not as it should be, by name.
func difference(got, want map[string]string) string {
	var out []string
	for name, text := range got {
		if w, ok := want[name]; !ok {
			out = append(out, fmt.Sprintf("%q is there, with %q", name, text))
		} else if w != text {
			out = append(out, fmt.Sprintf("%q has %q, want %q", name, text, w))
		}
	}
	for name := range want {
		if _, ok := got[name]; !ok {
			out = append(out, fmt.Sprintf("%q is not there", name))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}
