package envfilter

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// block gives each name the value "v", unless it has one.
func block(names ...string) []string {
	env := make([]string, len(names))
	for i, n := range names {
		if !strings.Contains(n, "=") {
			n += "=v"
		}
		env[i] = n
	}
	return env
}

// any3 in a vector runs it once for each audience.
const any3 = Cron | Agent | BrainCLI

// vector is one row of contract brainkit, section 2.4.
type vector struct {
	name   string
	env    []string
	to     Audience
	extras []string
	mode   Mode
	want   []string
	warn   []string // names
}

func vectors() []vector {
	return []vector{
		{
			name: "bk/E1", env: block("PATH", "COOKIE_SECRET", "EXTRA"), to: Agent, extras: []string{"EXTRA"},
			want: block("EXTRA", "PATH"),
		},
		{name: "bk/E2", env: block("DB_PATH", "HOME", "X", "COOKIE_SECRET"), to: Cron, want: block("DB_PATH")},
		{name: "bk/E3", env: block("DB_PATH", "HOME", "X", "COOKIE_SECRET"), to: Agent, want: block("HOME")},
		{name: "bk/E4", env: block("NO_COLOR", "PI_CODING_AGENT_DIR"), to: BrainCLI, want: block("NO_COLOR")},
		{name: "bk/E5", env: block(append(hostOnly(), "PATH")...), to: any3, want: block("PATH")},
		{name: "bk/E6", env: block("EXA_API_KEY"), to: Agent},
		{
			name: "bk/E7", env: block("EXA_API_KEY", "KAGI_API_KEY"), to: Agent, extras: []string{"EXA_API_KEY"},
			want: block("EXA_API_KEY"),
		},
		{
			name: "bk/E8", env: block("BRAIN_UI_SUBPROCESS_ENV_EXTRA=FOO", "FOO=1"), to: any3,
			extras: []string{"BRAIN_UI_SUBPROCESS_ENV_EXTRA", "FOO"}, want: block("FOO=1"), warn: []string{extraControl},
		},
		{
			name: "bk/E9", env: block("COOKIE_SECRET"), to: Agent, extras: []string{"COOKIE_SECRET"},
			want: block("COOKIE_SECRET"), warn: []string{"COOKIE_SECRET"},
		},
		{
			name: "bk/E10 [D] the control of a privilege boundary must not cross it", env: block("BRAIN_UI_EXEC_KILLER", "FOO"),
			to: Agent, extras: []string{"BRAIN_UI_EXEC_KILLER", "FOO"}, want: block("FOO"), warn: []string{"BRAIN_UI_EXEC_KILLER"},
		},
		{name: "bk/E11", env: block("path"), to: Agent},
		{name: "bk/E12", env: []string{"HOME="}, to: Agent, want: []string{"HOME="}},
		{name: "bk/E13", env: block("constructor", "__proto__", "toString", "hasOwnProperty"), to: Agent},
		{name: "bk/E14", env: block("A-B", "1X", "É"), to: Agent, extras: []string{"A-B", "1X", "É"}},
		{name: "bk/E15", env: block("FOO"), to: Agent, extras: []string{"FOO ", "FOO=1", "FOO\n"}},
		{name: "bk/E16", env: block("PATH"), to: Agent, extras: []string{"NOPE"}, want: block("PATH")},
		{
			name: "bk/E19 [D] one value, as os/exec would choose", env: block("FOO=1", "FOO=2"), to: Agent,
			extras: []string{"FOO"}, want: block("FOO=2"),
		},
		{
			name: "bk/E20 [D] no entry that the kernel and Go could read differently", env: []string{"=::", "NOEQ", "X=a\x00b"},
			to: Agent, extras: []string{"X", "NOEQ", ""},
		},
		{
			name: "brainkit 2.2 note [D] the agent has a home of its own", to: Agent,
			env: block("PI_CODING_AGENT_DIR", "XDG_CONFIG_HOME"), want: block("XDG_CONFIG_HOME"),
		},
		{
			name: "wrapper variable", env: block("BRAIN_UI_EXEC_WRAPPER"), to: Agent, extras: []string{"BRAIN_UI_EXEC_WRAPPER"},
			mode: Direct, warn: []string{"BRAIN_UI_EXEC_WRAPPER"},
		},
		{
			name: "any control of brainbox", env: block("BRAINBOX_POLICY"), to: Agent, extras: []string{"BRAINBOX_POLICY"},
			mode: Direct, warn: []string{"BRAINBOX_POLICY"},
		},
		{name: "no audience", env: block("PATH", "FOO"), extras: []string{"FOO"}, want: block("FOO")},
		{name: "several audiences at once", env: block("PATH", "DB_PATH"), to: Cron | Agent | 1<<6},
		{name: "per call is no audience to ask for", env: block("EXA_API_KEY"), to: PerCall},
		{name: "values are opaque", env: []string{"HOME= $X\n\xff=\t"}, to: Agent, want: []string{"HOME= $X\n\xff=\t"}},
		{
			name: "a name that only starts like a control", env: block("BRAINBOXES", "BRAIN_UI_EXEC_WRAPPERS"), to: Agent,
			extras: []string{"BRAINBOXES", "BRAIN_UI_EXEC_WRAPPERS"}, want: block("BRAINBOXES", "BRAIN_UI_EXEC_WRAPPERS"),
		},
	}
}

func TestFilter(t *testing.T) {
	for _, tt := range vectors() {
		t.Run(tt.name, func(t *testing.T) {
			audiences := []Audience{tt.to}
			if tt.to == any3 {
				audiences = []Audience{Cron, Agent, BrainCLI}
			}
			for _, a := range audiences {
				got := Filter(tt.env, a, BrainKitTable(), tt.extras, tt.mode)
				if diff := cmp.Diff(tt.want, got.Env); diff != "" {
					t.Errorf("audience %d, environment (-want +got):\n%s", a, diff)
				}
				var warn []string
				for _, w := range got.Warnings {
					warn = append(warn, w.Name)
				}
				if diff := cmp.Diff(tt.warn, warn); diff != "" {
					t.Errorf("audience %d, warnings (-want +got):\n%s", a, diff)
				}
			}
		})
	}
}

func TestFilterNeverForwardsWhatAWrapperWouldObey(t *testing.T) {
	// Contract brainkit, section 2.3; the last row goes beyond it (EV-02 to EV-04).
	names := []string{
		"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4",
		"PROMPT_COMMAND", "GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_COUNT", "GIT_SSH", "GIT_SSH_COMMAND",
		"GIT_EXEC_PATH", "NODE_OPTIONS", "PYTHONSTARTUP", "PERL5OPT",
		"LD_DEBUG", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "IFS", "CDPATH", "MALLOC_CHECK_", "TZDIR",
	}
	table := Table{{"LD_PRELOAD", Agent}, {"FOO", Agent}} // a table cannot hand it on either
	for _, name := range names {
		t.Run("bk/2.3 [D] "+name, func(t *testing.T) {
			env := block(name, "FOO")
			got := Filter(env, Agent, table, []string{name}, Wrapped)
			if diff := cmp.Diff(block("FOO"), got.Env); diff != "" {
				t.Errorf("wrapped (-want +got):\n%s", diff)
			}
			if len(got.Warnings) != 1 || got.Warnings[0].Name != name {
				t.Errorf("warnings %v, want one for %s", got.Warnings, name)
			}
			got = Filter(env, Agent, table, []string{name}, Direct)
			if len(got.Env) != 2 || len(got.Warnings) != 1 {
				t.Errorf("direct: %v, %v; want both names and one warning", got.Env, got.Warnings)
			}
		})
	}
	if got := Filter(block("LD_PRELOAD"), Agent, table, nil, Wrapped); len(got.Env) != 0 {
		t.Errorf("from the table: %v, want nothing", got.Env)
	}
}

func TestFilterZeroModeIsTheStrictOne(t *testing.T) {
	var mode Mode
	if got := Filter(block("LD_PRELOAD"), Agent, nil, []string{"LD_PRELOAD"}, mode); len(got.Env) != 0 {
		t.Errorf("Filter = %v, want nothing", got.Env)
	}
}

func TestFilterWarningsHoldNoValue(t *testing.T) {
	env := []string{"COOKIE_SECRET=s3cr3tvalue", "LD_PRELOAD=s3cr3tvalue"}
	got := Filter(env, Agent, BrainKitTable(), []string{"COOKIE_SECRET", "LD_PRELOAD"}, Wrapped)
	if len(got.Warnings) != 2 {
		t.Fatalf("warnings %v, want two", got.Warnings)
	}
	for _, w := range got.Warnings {
		if strings.Contains(w.Name+w.Text, "s3cr3t") {
			t.Errorf("warning %v holds a value", w)
		}
	}
}

func TestFilterReportsWhatItHeld(t *testing.T) {
	got := Filter(block("Z", "PATH", "COOKIE_SECRET"), Agent, BrainKitTable(), nil, Wrapped)
	if diff := cmp.Diff([]string{"COOKIE_SECRET", "Z"}, got.Held); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}

func TestFilterChangesNothingAndRemembersNothing(t *testing.T) {
	t.Run("bk/E17", func(t *testing.T) {
		env, extras, table := block("PATH", "HOME", "A"), []string{"A"}, BrainKitTable()
		before := slices.Clone(env)
		res := Filter(env, Agent, table, extras, Wrapped)
		for i := range res.Env {
			res.Env[i] = "X=changed"
		}
		if diff := cmp.Diff(before, env); diff != "" {
			t.Errorf("source (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(BrainKitTable(), table); diff != "" || extras[0] != "A" {
			t.Errorf("table or extras changed: %s %v", diff, extras)
		}
	})
	t.Run("bk/E18", func(t *testing.T) {
		env := block("FOO")
		if got := Filter(env, Agent, BrainKitTable(), []string{"FOO"}, Wrapped); len(got.Env) != 1 {
			t.Fatalf("with the extra: %v, want FOO", got.Env)
		}
		if got := Filter(env, Agent, BrainKitTable(), nil, Wrapped); len(got.Env) != 0 {
			t.Errorf("without the extra: %v, want nothing", got.Env)
		}
	})
}

func TestTables(t *testing.T) {
	if got := Filter(block("PATH", "FOO"), Agent, nil, nil, Wrapped); len(got.Env) != 0 {
		t.Errorf("nil table: %v, want nothing", got.Env)
	}
	env := block("PATH", "HOME", "TZ", "LANG", "NO_COLOR", "TERM", "GITHUB_TOKEN")
	got := Filter(env, Cron, GenericTable(), nil, Wrapped)
	if want := block("HOME", "LANG", "NO_COLOR", "PATH", "TERM", "TZ"); !slices.Equal(got.Env, want) {
		t.Errorf("generic table: %v, want %v", got.Env, want)
	}
	// Contract brainkit, section 2.2: how many names each row of the table has.
	count := func(to Audience) (n int) {
		for _, r := range BrainKitTable() {
			if r.To == to {
				n++
			}
		}
		return n
	}
	for _, tt := range []struct {
		to   Audience
		want int
	}{{Cron | Agent | BrainCLI, 21}, {Agent | BrainCLI, 6}, {Agent, 8}, {Cron, 3}, {PerCall, 7}, {HostOnly, 44}} {
		if got := count(tt.to); got != tt.want {
			t.Errorf("rows for %b: %d, want %d", tt.to, got, tt.want)
		}
	}
}

func TestParseExtra(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"bk/PX1", "", []string{}},
		{"bk/PX2", " A, B ,A", []string{"A", "B"}},
		{"bk/PX3", " , OK,OK,  S_2  ,bad-name,has space,2X,, ", []string{"OK", "S_2"}},
		{"bk/PX4", "BRAIN_UI_SUBPROCESS_ENV_EXTRA,X", []string{"X"}},
		{"bk/PX5 semicolon", "A;B", []string{}},
		{"bk/PX5 blank", "A B", []string{}},
		{"bk/PX5 equals sign", "A=B", []string{}},
		{"bk/PX5 star", "*", []string{}},
		{"bk/PX5 prefix", "A*", []string{}},
		{"bk/PX6", "A\nB", []string{}},
		{"bk/PX7", "\tA\n", []string{"A"}},
		{"bk/PX8", strings.Repeat(",", 1<<20), []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ParseExtra(tt.in)); diff != "" {
				t.Errorf("ParseExtra (-want +got):\n%s", diff)
			}
		})
	}
}
