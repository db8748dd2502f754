package integration

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"brainbox/bridge/client"
	"brainbox/bridge/operator"
	"brainbox/gate/prompt"
)

// yes is a person who allows all that is asked.
type yes struct{ asked atomic.Int32 }

func (y *yes) Prompt(context.Context, prompt.View) (prompt.Answer, error) {
	y.asked.Add(1)
	return prompt.Answer{Decision: prompt.Approve}, nil
}

// attend has a person at the one session of the world, until the test ends.
func (w *bridgeWorld) attend(t *testing.T, y *yes) {
	t.Helper()
	var conn *client.UI
	waitFor(t, "the session", func() bool {
		found, _ := filepath.Glob(w.runtime + "/brainbox/*/ui.sock")
		if len(found) == 1 {
			conn, _ = client.OpenUI(t.Context(), found[0], w.state+"/brainbox/operator.key")
		}
		return conn != nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = operator.Serve(ctx, conn, y, nil) }()
	t.Cleanup(func() { cancel(); _ = conn.Close(); <-done })
}

// grantedScript tries to leave the boundary by itself and through the host. NAME STATUS is
// printed for each attempt; $OUT is a folder beside the checkout.
const grantedScript = `
say() { n=$1; shift; "$@" >/dev/null 2>&1; echo "$n $?"; }
sh() { command sh "$@"; }
ln -s "$OUT" out; ln -s .git/hooks hooks; ln "$OUT/canary" hard 2>/dev/null
while [ ! -e go ]; do sleep 0.02; done
say fine sh -c 'echo fine | $B write fine'
say call $B call host.other
say own_hook sh -c 'echo own >.git/hooks/own'
say own_out sh -c 'echo own >"$OUT/own"'
say own_canary sh -c 'echo own >"$OUT/canary"'
say own_config sh -c 'echo "{}" >"$CONFIG/gate.json"'
say own_key sh -c 'cat "$KEY"'
for p in .git/hooks/asked .GIT/hooks/asked .git/config .git/new .brain/x context/policies/x ../out/asked "$OUT/asked" out/asked hooks/asked .; do
	say "host:$p" sh -c 'echo asked | $B write "$0"' "$p"
	say "tool:$p" $B call write_file "{\"path\":\"$p\",\"content\":\"asked\",\"base\":null}"
done
say host:rename $B call rename '{"from":"fine","to":".git/hooks/renamed"}'
say host:away $B call rename '{"from":".git","to":"away"}'
say host:remove $B call remove '{"path":".git","recursive":true}'
say host:mkdir $B call mkdir '{"path":"out/dir"}'
say host:read $B call read_file '{"path":"out/canary"}'
say host:staged $B call apply_staged '{"files":[{"path":"staged","content":"x","base":null},{"path":".git/hooks/staged","content":"x","base":null}]}'
`

// TestGrantedEverything is bk/M38: a gate that allows all, and a person who grants all that
// is asked, move no boundary. What may be written through the host is, the rest is refused
// by the kernel or by the tools, and nothing of it is there afterwards.
func TestGrantedEverything(t *testing.T) {
	const surfaces = `{"*": "%", "bash": "%", "read": "%", "write": "%", "edit": "%", "path": "%", "path_read": "%", "path_write": "%", "external_directory": "%"}`
	for _, action := range []string{"allow", "ask"} {
		t.Run("bk/M38 "+action, func(t *testing.T) {
			w := newBridgeWorld(t)
			must(t, os.WriteFile(w.config+"/gate.json", []byte(strings.ReplaceAll(surfaces, "%", action)), 0o600))
			out := filepath.Join(filepath.Dir(w.dir), "out")
			must(t, errors.Join(os.MkdirAll(w.dir+"/.git/hooks", 0o755), os.Mkdir(out, 0o755),
				os.WriteFile(out+"/canary", []byte(canaryText), 0o644), os.WriteFile(w.dir+"/.git/config", nil, 0o644)))
			cmd := w.command(nil, "sh", "-c", "export B="+program("brainbox")+" OUT="+out+" CONFIG="+w.config+
				" KEY="+w.state+"/brainbox/operator.key\n"+grantedScript)
			stdout, stderr := &syncBuffer{}, &syncBuffer{}
			cmd.Stdout, cmd.Stderr = stdout, stderr
			must(t, cmd.Start())
			defer func() { _ = cmd.Process.Kill() }()
			y := &yes{}
			w.attend(t, y)
			must(t, os.WriteFile(w.dir+"/go", nil, 0o644))
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
			}
			w.granted(t, stdout.String(), out)
			if asked := y.asked.Load(); action == "ask" && asked < 2 { // the two that are allowed, at least
				t.Errorf("asked %d times", asked)
			}
			if t.Failed() {
				t.Logf("%s\n%s", stdout, stderr)
			}
		})
	}
}

// granted looks at what the attempts answered, and at what is there.
func (w *bridgeWorld) granted(t *testing.T, said, out string) {
	t.Helper()
	attempts := 0
	for line := range strings.Lines(said) {
		name, status, ok := strings.Cut(strings.TrimSpace(line), " ")
		switch allowed := name == "fine" || name == "call"; {
		case !ok:
			t.Errorf("%q", line)
		case name == "own_hook" && isolation == "landlock": // in a writable grant: the clause protect, declared open there
			must(t, os.RemoveAll(w.dir+"/.git/hooks/own"))
		case allowed != (status == "0"):
			t.Errorf("%s: status %s", name, status)
		}
		attempts++
	}
	if attempts != 35 {
		t.Errorf("%d attempts", attempts)
	}
	if text, err := os.ReadFile(w.dir + "/fine"); err != nil || string(text) != "fine\n" {
		t.Errorf("the control: %q, %v", text, err)
	}
	if text, err := os.ReadFile(out + "/canary"); err != nil || string(text) != canaryText {
		t.Errorf("outside: %q, %v", text, err)
	}
	for dir, want := range map[string]string{
		out: "canary", w.dir + "/.git": "config hooks", w.dir + "/.git/hooks": "", w.config: "bridge.json gate.json tool",
		w.dir: ".git fine go hooks out",
	} {
		entries, err := os.ReadDir(dir)
		must(t, err)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s has %q, want %q", dir, got, want)
		}
	}
	for _, name := range []string{out + "/control", w.dir + "/.git/hooks/control"} { // whoever is not inside writes there
		must(t, os.WriteFile(name, nil, 0o644))
	}
}
