package envfilter

import (
	"slices"
	"strings"
	"testing"
)

func FuzzFilter(f *testing.F) {
	f.Add("PATH=/bin\nHOME=/x\nHOME=/y\nNOEQ\n=x", "HOME,LD_PRELOAD", byte(2), true)
	f.Add("LD_PRELOAD=a\nBRAINBOX_X=1\nBRAIN_UI_EXEC_KILLER=k", "BRAINBOX_X,BRAIN_UI_EXEC_KILLER,LD_PRELOAD", byte(1), false)
	f.Add("A-B=1\nFOO=a\x00b\nFOO=2", "A-B,FOO,FOO ", byte(0), true)
	f.Fuzz(func(t *testing.T, block, extra string, audience byte, direct bool) {
		env, extras, mode := strings.Split(block, "\n"), strings.Split(extra, ","), Wrapped
		if direct {
			mode = Direct
		}
		table := BrainKitTable()
		res := Filter(env, Audience(audience), table, extras, mode)
		if !sortedByName(res.Env) {
			t.Errorf("not sorted: %q", res.Env)
		}
		for _, kv := range res.Env {
			name, _, _ := strings.Cut(kv, "=")
			last := ""
			for _, s := range env {
				if strings.HasPrefix(s, name+"=") && !strings.Contains(s, "\x00") {
					last = s
				}
			}
			if last != kv {
				t.Errorf("%q is not the last entry of the source", kv)
			}
			listed := slices.ContainsFunc(table, func(r Row) bool {
				return r.Name == name && r.To&Audience(audience) != 0
			})
			if !slices.Contains(extras, name) && !listed {
				t.Errorf("nobody asked for %q", name)
			}
			if isControl(name) || isLoader(name) && !direct {
				t.Errorf("%q is never handed on", name)
			}
			if slices.Contains(res.Held, name) {
				t.Errorf("%q is both held and handed on", name)
			}
		}
	})
}

func sortedByName(env []string) bool {
	return slices.IsSortedFunc(env, func(a, b string) int {
		x, _, _ := strings.Cut(a, "=")
		y, _, _ := strings.Cut(b, "=")
		return strings.Compare(x, y)
	})
}

func FuzzParseExtra(f *testing.F) {
	for _, s := range []string{
		"", " A, B ,A", "A;B", "A\nB", "\tA\n", strings.Repeat(",", 100), extraControl + ",X", "\u00a0A",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := ParseExtra(value)
		seen := map[string]bool{}
		for _, name := range got {
			if !ValidName(name) || name == extraControl || seen[name] || !strings.Contains(value, name) {
				t.Errorf("ParseExtra(%q) holds %q", value, name)
			}
			seen[name] = true
		}
		if again := ParseExtra(strings.Join(got, ",")); !slices.Equal(got, again) {
			t.Errorf("ParseExtra of its own result: %q, want %q", again, got)
		}
	})
}

func FuzzEnvFile(f *testing.F) {
	for _, s := range []string{
		"A=1\n# c\n\nB\n", "\ufeffA=x\r\n", "=x", "A B=1", "A=\x00", "A=\xff", " \tA= b ",
		"LD_PRELOAD=x\nHOME\nBRAINBOX_X=1",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		vars, err := ParseFile(data)
		if err != nil {
			if vars != nil {
				t.Errorf("variables %v beside error %v", vars, err)
			}
			return
		}
		lines := strings.Split(string(data), "\n")
		for _, v := range vars {
			if !nameable(v.Name) || strings.ContainsAny(v.Value, "\x00\n") || v.Line < 1 || v.Line > len(lines) {
				t.Fatalf("ParseFile(%q) holds %+v", data, v)
			}
			if !strings.Contains(lines[v.Line-1], v.Name) || !strings.Contains(lines[v.Line-1], v.Value) {
				t.Errorf("%+v is not on its line of %q", v, data)
			}
		}
		in := input("LANG=C", "HOME=/root", "LD_PRELOAD=x", "all_proxy=x")
		in.Files = []File{{Name: "f", Vars: vars}}
		env, _, err := Build(in)
		if err != nil {
			return
		}
		for _, kv := range env {
			name, _, _ := strings.Cut(kv, "=")
			if isControl(name) || strings.Contains(kv, "\x00") || len(kv)+1 > MaxEntry {
				t.Errorf("Build gives %q for %q", kv, data)
			}
		}
		if got, ok := lookup(env, "LD_PRELOAD"); ok && !slices.ContainsFunc(vars, func(v Var) bool {
			return v.Name == "LD_PRELOAD" && !v.FromCaller && v.Value == got
		}) {
			t.Errorf("LD_PRELOAD=%q was taken from the caller", got)
		}
	})
}
