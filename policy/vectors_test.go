package policy

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the wanted parts of the vector files")

// testVars is the place that every vector is read at.
func testVars() Vars {
	return Vars{
		Home: "/home/u", Pwd: "/home/u/repo/sub", TmpDir: "/tmp", User: "u",
		XDGConfig: "/home/u/.config", XDGCache: "/home/u/.cache", XDGData: "/home/u/.local/share",
		XDGState: "/home/u/.local/state", XDGRuntime: "/run/user/1000",
		Git: "/home/u/repo", Cwd: "/home/u/repo/sub", ProjectDir: "/home/u/repo",
	}
}

// rows reads a table: one row a line, cells between "|", "#" begins a comment.
func rows(t *testing.T, name string, columns int) [][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) != columns {
			t.Fatalf("%s:%d: %d cells, want %d", name, i+1, len(cells), columns)
		}
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		out = append(out, cells)
	}
	if len(out) == 0 {
		t.Fatalf("%s holds no row", name)
	}
	return out
}

// vector is one case of an archive: its files are named CASE/FILE.
type vector struct {
	name  string
	files map[string]string
}

func (v vector) input() Input {
	return Input{Vars: testVars(), Read: func(p string) ([]byte, error) {
		if text, ok := v.files[path.Clean(p)]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
	}}
}

// runVectors compares what run returns with CASE/want, for every case.
func runVectors(t *testing.T, name string, run func(*testing.T, vector) string) {
	t.Helper()
	file := "testdata/" + name
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(text)
	var order []string
	cases := map[string]vector{}
	for _, f := range archive.Files {
		c, base, ok := strings.Cut(f.Name, "/")
		if !ok {
			t.Fatalf("%s: %q is not CASE/FILE", name, f.Name)
		}
		if _, seen := cases[c]; !seen {
			order = append(order, c)
			cases[c] = vector{c, map[string]string{}}
		}
		cases[c].files[base] = string(f.Data)
	}
	if len(order) == 0 {
		t.Fatalf("%s holds no case", name)
	}
	got := map[string]string{}
	for _, c := range order {
		t.Run(c, func(t *testing.T) {
			got[c] = run(t, cases[c])
			if *update {
				return
			}
			want, ok := cases[c].files["want"]
			if !ok {
				t.Fatalf("%s/want is missing", c)
			}
			if diff := cmp.Diff(want, got[c]); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if *update {
		rewrite(t, file, archive, order, got)
	}
}

func rewrite(t *testing.T, file string, archive *txtar.Archive, order []string, got map[string]string) {
	t.Helper()
	out := &txtar.Archive{Comment: archive.Comment}
	for _, c := range order {
		for _, f := range archive.Files {
			if strings.HasPrefix(f.Name, c+"/") && f.Name != c+"/want" {
				out.Files = append(out.Files, f)
			}
		}
		out.Files = append(out.Files, txtar.File{Name: c + "/want", Data: []byte(got[c])})
	}
	text := txtar.Format(out)
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, text) {
		return
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// show prints every error with its hint.
func show(err error) string {
	var all Errors
	var one *Error
	switch {
	case errors.As(err, &all):
	case errors.As(err, &one):
		all = Errors{one}
	default:
		return fmt.Sprintf("%T: %v\n", err, err)
	}
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "%v\n", e)
		if e.Hint != "" {
			fmt.Fprintf(&b, "  hint: %s\n", e.Hint)
		}
	}
	return b.String()
}

// dump prints a policy for the vectors: what Format prints, one value a line. Of
// profiles it prints how many values they give.
func dump(p *Policy) string {
	var b strings.Builder
	table, list := "", ""
	counts := map[string]int{}
	var order []string
	for _, line := range strings.Split(string(p.Format()), "\n") {
		switch {
		case line == "" || line == "version = 1" || line == "]":
			continue
		case strings.HasPrefix(line, "[["):
			b.WriteString(line + "\n")
			table, list = "", ""
			continue
		case line[0] == '[':
			table = strings.Trim(line, "[]") + "."
			continue
		case strings.HasSuffix(line, " = ["):
			list = strings.TrimSuffix(line, " = [")
			continue
		}
		key := table + line
		if line[0] == ' ' {
			key = table + list + strings.TrimSuffix(line[1:], ",")
		}
		if _, from, ok := strings.Cut(line, " # profile "); ok {
			from, _, _ = strings.Cut(from, ",")
			name := "profile " + from + ": " + strings.SplitN(key, " ", 2)[0]
			if counts[name]++; counts[name] == 1 {
				order = append(order, name)
			}
			continue
		}
		b.WriteString(key + "\n")
	}
	for _, name := range order {
		fmt.Fprintf(&b, "%s %d\n", name, counts[name])
	}
	return b.String()
}

// flagLayer reads CASE/flags: one flag and its value a line.
func flagLayer(t *testing.T, text string) (*Layer, error) {
	t.Helper()
	l := NewFlagLayer()
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		name, value, _ := strings.Cut(line, " ")
		var err error
		switch name {
		case "--ro":
			err = l.AddGrant(line, value, RightRead)
		case "--rox":
			err = l.AddGrant(line, value, RightExec)
		case "--rw":
			err = l.AddGrant(line, value, RightWrite)
		case "--rwx":
			err = l.AddGrant(line, value, RightWriteExec)
		case "--protect":
			err = l.AddGrant(line, value, RightProtect)
		case "--deny":
			err = l.AddGrant(line, value, RightDeny)
		case "--env":
			err = l.AddEnv(line, value)
		case "":
			continue
		default: // --set KEY=VALUE
			key, v, ok := strings.Cut(value, "=")
			if name != "--set" || !ok {
				t.Fatalf("unknown flag line %q", line)
			}
			err = l.Set(key, line, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return l, nil
}
