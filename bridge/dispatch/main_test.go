package dispatch

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/internal/strictjson"

	"brainbox/internal/needs"
)

func TestMain(m *testing.M) {
	Keep()
	os.Exit(m.Run())
}

// request is R of section A.10.
func request() *envelope.Request {
	return &envelope.Request{
		ID: "ptr_1", Tool: "workspace.read", Operation: "call",
		Input:        strictjson.Object(strictjson.Pair("path", strictjson.Text("README.md"))),
		Session:      envelope.Session{ID: "s1"},
		AllowedTools: []string{"workspace.read"},
		Metadata:     strictjson.Object(),
	}
}

// good is E of section A.10.
func good() string {
	output := strictjson.Text("text")
	return string(request().Succeed(&output).Encode())
}

// say is a result as the tests name it: the status, a slash, the code.
func say(res *envelope.Result) string {
	if res == nil {
		return "nothing"
	}
	if res.Err == nil {
		return string(res.Status)
	}
	return string(res.Status) + "/" + res.Err.Code
}

// check holds a result to what is wanted, and to being whole.
func check(t *testing.T, res *envelope.Result, want string) {
	t.Helper()
	if got := say(res); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if r := request(); r.Checked(res) != res {
		t.Errorf("not a whole result of the request: %s", res.Encode())
	}
	if again := envelope.DecodeResult(request(), res.Encode()); say(again) != say(res) {
		t.Errorf("%s is read as %s", say(res), say(again))
	}
}

func diagnostic(res *envelope.Result, key string) string {
	v := res.Diagnostics.Get(key)
	switch {
	case v == nil:
		return ""
	case v.Kind == strictjson.KindBool:
		return strconv.FormatBool(v.Bool)
	}
	return v.Text
}

func variables(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// settled fails when descriptors, goroutines of this package or children are left at the end.
func settled(t *testing.T) {
	t.Helper()
	fds, children := count(t)
	t.Cleanup(func() {
		for limit := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
			nowFDs, nowChildren := count(t)
			if nowFDs <= fds && nowChildren <= children {
				return
			}
			if time.Now().After(limit) {
				t.Errorf("descriptors: %d, then %d; children: %d, then %d", fds, nowFDs, children, nowChildren)
				return
			}
		}
	})
}

func count(t *testing.T) (fds, children int) {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(tasks) == 0 {
		t.Fatal("no list of children", err)
	}
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		children += len(strings.Fields(string(text))) // ended and not reaped ones too
	}
	return len(names), children
}

// bench is a place for commands.
type bench struct {
	t   *testing.T
	dir string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	needs.Kernel(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bin", "scratch", "work", "notes"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &bench{t: t, dir: dir}
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) write(name, text string, mode os.FileMode) string {
	b.t.Helper()
	path := b.path(name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// script makes a program. $good is a file with E, $notes a folder that stays.
func (b *bench) script(body string) string {
	b.t.Helper()
	b.write("good", good()+"\n", 0o644)
	return b.write("bin/tool", "#!/bin/sh\ngood="+b.path("good")+" notes="+b.path("notes")+"\n"+body+"\n", 0o755)
}

// config runs a script.
func (b *bench) config(body string) CommandConfig {
	b.t.Helper()
	return CommandConfig{
		Argv: []string{b.script(body)}, Keeper: "/proc/self/exe", Scratch: b.path("scratch"),
		Writable: []string{b.path("work")}, Timeout: 20 * time.Second,
	}
}

func (b *bench) command(cfg CommandConfig, getenv func(string) string) *Command {
	b.t.Helper()
	c, err := NewCommand(cfg, getenv)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(c.Close)
	return c
}

// run runs a script once.
func (b *bench) run(body string, change func(*CommandConfig)) *envelope.Result {
	b.t.Helper()
	cfg := b.config(body)
	if change != nil {
		change(&cfg)
	}
	return b.command(cfg, variables()).Dispatch(context.Background(), request())
}

// note waits for the numbers that a script wrote to a note, one a line.
func (b *bench) pids(name string, n int) []int {
	b.t.Helper()
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(2 * time.Millisecond) {
		text, _ := os.ReadFile(b.path("notes/" + name))
		var all []int
		for line := range strings.Lines(string(text)) {
			if pid, err := strconv.Atoi(strings.TrimSuffix(line, "\n")); err == nil {
				all = append(all, pid)
			}
		}
		if len(all) >= n {
			return all
		}
	}
	b.t.Fatalf("no %d numbers in the note %s", n, name)
	return nil
}

func runs(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func (b *bench) gone(pids []int) {
	b.t.Helper()
	for _, pid := range pids {
		if runs(pid) {
			b.t.Errorf("process %d still runs", pid)
		}
	}
}

// empty holds that no fresh folder is left.
func (b *bench) empty() {
	b.t.Helper()
	if left, err := filepath.Glob(b.path("scratch/*")); err != nil || len(left) > 0 {
		b.t.Errorf("left in the folder for fresh folders: %v, %v", left, err)
	}
}

// patience is how long something may take on a busy machine beyond what it is given. What is
// ended in the tests would go on for longer than that.
const patience = 20 * time.Second

// within holds what attempt measures to a limit, and patience.
func within(t *testing.T, limit time.Duration, attempt func() time.Duration) {
	t.Helper()
	if took := attempt(); took > limit+patience {
		t.Errorf("took %v, more than %v and %v", took, limit, patience)
	}
}
