package inside

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"brainbox/bridge/bridgetest"
	"brainbox/bridge/client"
	"brainbox/bridge/envelope"
	"brainbox/internal/strictjson"
)

func result(tool string, status envelope.Status, output string) *envelope.Result {
	res := &envelope.Result{ID: "r", Tool: tool, Operation: "call", Status: status}
	if output != "" {
		v, err := strictjson.Decode([]byte(output), strictjson.Limits{})
		if err != nil {
			panic(err)
		}
		res.Output = v
	}
	return res
}

func TestFinishRunsOnlyWhatWasLeft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ran")
	command := `"command":"echo x >` + file + `","timeout_ms":5000`
	for name, res := range map[string]*envelope.Result{
		"another tool":  result("workspace.bash", envelope.Succeeded, `{"place":"sandbox",`+command+`}`),
		"denied":        result(Tool, envelope.Denied, ""),
		"another place": result(Tool, envelope.Succeeded, `{"place":"host",`+command+`}`),
		"no place":      result(Tool, envelope.Succeeded, `{`+command+`}`),
		"no time":       result(Tool, envelope.Succeeded, `{"place":"sandbox","command":"echo x >`+file+`"}`),
		"no command":    result(Tool, envelope.Succeeded, `{"place":"sandbox","timeout_ms":5000}`),
		"a zero byte":   result(Tool, envelope.Succeeded, `{"place":"sandbox","command":"echo x >`+file+`\u0000","timeout_ms":5000}`),
		"a text":        result(Tool, envelope.Succeeded, `"sandbox"`),
	} {
		if got, err := Finish(t.Context(), res); err != nil || got != res {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%s: it ran: %v", name, err)
		}
	}
	got, err := Finish(t.Context(), result(Tool, envelope.Succeeded, `{"place":"sandbox",`+command+`}`))
	if err != nil || got.Output.Get("exit").Text != "0" {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("it did not run: %v", err)
	}
}

func TestFinishEnds(t *testing.T) {
	got, err := Finish(t.Context(), result(Tool, envelope.Succeeded, `{"place":"sandbox","command":"echo a; sleep 60","timeout_ms":100}`))
	if err != nil || got.Output.Get("cause").Text != "timeout" || got.Output.Get("output").Items[0].Get("text").Text != "a\n" {
		t.Errorf("%+v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := Finish(ctx, result(Tool, envelope.Succeeded, `{"place":"sandbox","command":"true","timeout_ms":100}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestEnviron(t *testing.T) {
	got := environ([]string{"A=b", client.EnvFD + "=3", client.EnvSocket + "=/s"})
	if want := []string{"A=b", client.EnvSocket + "=/s"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// With a real bridge: the command runs here when the rules allow it, and not at all when
// they do not (bg section A.9: no fallback).
func TestRealBash(t *testing.T) {
	r := bridgetest.StartReal(t, `{"*":"allow","external_directory":"allow","bash":{"*":"deny","echo *":"allow","touch *":"deny","rm *":"ask"}}`)
	c, err := client.Open(t.Context(), client.Options{Socket: r.Agent})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	file := filepath.Join(t.TempDir(), "f")
	for _, test := range []struct {
		command string
		status  envelope.Status
		output  string
	}{
		{"touch " + file, envelope.Denied, ""},
		{"rm " + file, envelope.Unavailable, ""},
		{"echo hello", envelope.Succeeded, "hello\n"},
	} {
		input := strictjson.Object(strictjson.Pair("command", strictjson.Text(test.command)))
		start := time.Now()
		res, err := c.Call(t.Context(), Tool, &input)
		if err == nil {
			res, err = Finish(t.Context(), res)
		}
		if err != nil || res.Status != test.status {
			t.Fatalf("%s: %+v %+v, %v", test.command, res, res.Err, err)
		}
		if test.output == "" {
			continue
		}
		if out := res.Output.Get("output"); len(out.Items) != 1 || out.Items[0].Get("text").Text != test.output {
			t.Errorf("%s: %s after %v", test.command, strictjson.Append(nil, res.Output), time.Since(start))
		}
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was denied ran: %v", err)
	}
}
