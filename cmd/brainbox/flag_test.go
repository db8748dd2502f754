package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/urfave/cli/v2"
)

// What the library would have found out.
func TestFlagNamesAreThoseOfTheLibrary(t *testing.T) {
	for _, verb := range []string{"run", "check", "why", "probe"} {
		flags := flagsOf(verb)
		if len(flags) == 0 {
			t.Fatalf("%s has no flags", verb)
		}
		for _, f := range flags {
			var want []string
			switch f := f.(type) {
			case *stringFlag:
				want = f.StringFlag.Names()
			case *listOfFlag:
				want = f.StringSliceFlag.Names()
			case *boolFlag:
				want = f.BoolFlag.Names()
			default:
				t.Fatalf("%s: a %T finds its names anew each time", verb, f)
			}
			if diff := cmp.Diff(want, f.Names()); diff != "" {
				t.Errorf("%s (-library +own):\n%s", verb, diff)
			}
			if _, ok := f.(cli.DocGenerationFlag); !ok {
				t.Errorf("%s: %v is not in the help", verb, f.Names())
			}
		}
	}
}

func TestNamedLeavesOutNoFlagThatIsUsed(t *testing.T) {
	flags := flagsOf("run")
	for _, c := range []struct {
		args string
		want string // "all", or the names
	}{
		{"-- npm test", ""},
		{"-q --isolation landlock -- npm --rw x", "quiet isolation rw"},
		{"--rw=. --rw . -rw x --net=none npm", "rw net"},
		{"--env -- --timeout 1s npm", "env timeout"},  // "--" is a value
		{"--cwd --policy npm", "cwd policy"},          // so may be the name of a flag
		{"npm -- --policy x --unknown=1 -", "policy"}, // the program's
		{"--help", "all"},
		{"-h", "all"},
		{"--unknown -- npm", "all"},
		{"--rwxx=. npm", "all"},
		{"npm --watch", "all"}, // the program's, and not worth knowing
	} {
		got := named(flags, strings.Fields(c.args))
		if c.want == "all" {
			if len(got) != len(flags) {
				t.Errorf("%q: %d of %d flags", c.args, len(got), len(flags))
			}
			continue
		}
		var names []string
		for _, f := range got {
			names = append(names, f.Names()[0])
		}
		if diff := cmp.Diff(strings.Fields(c.want), names, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.args, diff)
		}
	}
}
