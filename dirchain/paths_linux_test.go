package dirchain

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"brainbox/internal/needs"
)

// traced is one call with a directory and a path, as strace writes it.
var traced = regexp.MustCompile(`\b(\w+)\((AT_FDCWD|\d+)(?:<[^>]*>)?, "([^"]*)"(.*)`)

// TestPathsOfCalls reads from outside what is asked of the kernel: nothing beneath
// the root by its whole path, and several components at once only where openat2 is
// told to stay beneath.
func TestPathsOfCalls(t *testing.T) {
	strace := needs.Tool(t, "strace")
	const stays = "RESOLVE_NO_XDEV|RESOLVE_NO_MAGICLINKS|RESOLVE_NO_SYMLINKS|RESOLVE_BENEATH"
	for _, filter := range []string{"", "openat2:38", "openat2:1", "statx:38", "openat2:38 statx:1"} {
		t.Run("esc/DC-20 "+filter, func(t *testing.T) {
			for _, p := range []op{
				{Path: target, Mode: Replace, Content: "new"},
				{Path: target, Mode: Append, Content: "new"},
				{Path: "g/p/x/y/n", Content: "new", Parents: true},
				{Path: target, Kind: "read"},
				{Path: target, Kind: "hold"},
				{Path: target, Kind: "edit", Old: "old", Content: "new"},
			} {
				g := newGround(t)
				seen := 0
				for line := range strings.Lines(trace(t, strace, attack{Root: g.root, Op: p, Filter: filter})) {
					m := traced.FindStringSubmatch(line)
					if m == nil {
						continue
					}
					call, dir, path, rest := m[1], m[2], m[3], m[4]
					switch {
					case dir == "AT_FDCWD":
						if strings.HasPrefix(path, g.root+"/") {
							t.Errorf("%s", line)
						}
						continue
					case call == "openat2" && !strings.Contains(rest, stays):
						t.Errorf("%s does not stay beneath", line)
					case call != "openat2" && strings.Contains(path+rest, "/"):
						t.Errorf("%s has several components", line)
					}
					seen++
				}
				if seen < 5 {
					t.Errorf("only %d calls were seen", seen)
				}
			}
		})
	}
}

// trace does an attack under strace and gives what that has written.
func trace(t *testing.T, strace string, a attack) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spec, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := t.TempDir() + "/trace"
	cmd := exec.CommandContext(ctx, strace, "-f", "-s", "4096", "-o", out, "-e", "trace=%file", self)
	cmd.Env = append(os.Environ(), childEnv+"="+string(spec), "GORACE=atexit_sleep_ms=0")
	got, err := cmd.CombinedOutput()
	var o outcome
	if err == nil {
		err = json.Unmarshal(got, &o)
	}
	if err != nil || o.Err != "" {
		t.Fatalf("%v\n%s", err, got)
	}
	return read(t, out)
}
