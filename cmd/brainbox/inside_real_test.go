package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brainbox/bridge/bridgetest"
)

// With a real bridge: what a shell script would do, and what became of the files.
func TestInsideReal(t *testing.T) {
	r := bridgetest.StartReal(t, `{"*":"allow","external_directory":"allow","bash":"allow","write":{"*":"allow","*secret*":"deny"}}`)
	c := caller{t, r.Dir, r.Agent}
	big := strings.Repeat("0123456789abcde\n", 100_000)
	do := func(want int, stdin string, args ...string) string {
		t.Helper()
		status, out, errs := c.run(stdin, args...)
		if status != want || want != 0 && errs == "" {
			t.Errorf("%q: %d, %q, %q", args, status, out, errs)
		}
		return out
	}
	has := func(name, want string) {
		t.Helper()
		got, err := os.ReadFile(filepath.Join(r.Dir, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(want))
		}
	}
	do(0, "one\n", "write", "d/f")
	has("d/f", "one\n")
	do(0, "two\n", "write", "d/f")
	do(0, "three\n", "write", "--append", "d/f")
	has("d/f", "two\nthree\n")
	do(1, "x", "write", "--create", "d/f")
	do(1, "x", "write", "--base", strings.Repeat("0", 64), "d/f")
	do(1, "x", "write", "d/secret")
	do(0, "", "edit", "d/f", "two", `$&\1`)
	has("d/f", "$&\\1\nthree\n")
	do(1, "", "edit", "d/f", "nope", "x")
	do(0, big, "write", "big")
	has("big", big)
	do(0, "\xff\x00", "write", "bytes")
	has("bytes", "\xff\x00")
	c.dir = filepath.Join(r.Dir, "d")
	do(0, "", "mv", "f", "../g")
	has("g", "$&\\1\nthree\n")
	do(1, "", "mv", "../g", "../big")
	has("big", big)
	do(0, "", "mv", "-f", "../g", "../big")
	has("big", "$&\\1\nthree\n")
	do(0, "", "rm", "../big")
	do(1, "", "rm", "../big")
	if out := do(0, "", "call", "bash", `{"command":"echo $((6*7)) in ${PWD##*/}"}`); !strings.Contains(out, `"text":"42 in d\n"`) {
		t.Errorf("bash: %s", out)
	}
	left, err := os.ReadDir(r.Dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestLinksNoHTTP(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	list.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is built
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 100 {
		t.Fatalf("%d packages: the list is not whole", len(deps))
	}
	// What asks on a terminal decides nothing, and reads no shell.
	asks := []string{"brainbox/gate/action", "brainbox/gate/event", "brainbox/gate/prompt", "brainbox/gate/show", "brainbox/gate/tty"}
	for _, dep := range deps {
		switch {
		case slices.Contains(asks, dep):
		case dep == "net", dep == "net/http", dep == "encoding/gob", dep == "runtime/cgo", strings.HasPrefix(dep, "mvdan.cc/"),
			strings.Contains(dep, "modelcontextprotocol"), strings.HasPrefix(dep, "brainbox/gate"), dep == "brainbox/bridge":
			t.Errorf("brainbox links %s", dep)
		}
	}
}
