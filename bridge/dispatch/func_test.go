package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"brainbox/bridge/envelope"
	"brainbox/internal/strictjson"
)

func TestFunc(t *testing.T) {
	value := strictjson.Text("text")
	for _, c := range []struct {
		name, want string
		handler    Handler
		timeout    time.Duration
	}{
		{"output", "succeeded", func(_ context.Context, r *envelope.Request) (*strictjson.Value, error) {
			if r.Input.Get("path").Text != "README.md" {
				return nil, errors.New("another request")
			}
			return &value, nil
		}, 0},
		{"no output", "succeeded", func(context.Context, *envelope.Request) (*strictjson.Value, error) { return nil, nil }, 0},
		{"error", "failed/internal_error", func(context.Context, *envelope.Request) (*strictjson.Value, error) {
			return &value, errors.New("/home/op/s3cret")
		}, 0},
		{"failure", "denied/permission_denied", func(context.Context, *envelope.Request) (*strictjson.Value, error) {
			return nil, errors.Join(&Failure{Status: envelope.Denied, Code: "permission_denied", Message: "not this one"})
		}, 0},
		{"failure that says it succeeded", "failed/internal_error", func(context.Context, *envelope.Request) (*strictjson.Value, error) {
			return nil, &Failure{Status: envelope.Succeeded, Code: "x"}
		}, 0},
		{"failure without a code", "failed/internal_error", func(context.Context, *envelope.Request) (*strictjson.Value, error) { return nil, &Failure{} }, 0},
		{"no failure", "failed/internal_error", func(context.Context, *envelope.Request) (*strictjson.Value, error) { return nil, (*Failure)(nil) }, 0},
		{"panic", "failed/internal_error", func(context.Context, *envelope.Request) (*strictjson.Value, error) { panic("s3cret") }, 0},
		{"panic nil", "failed/internal_error", func(context.Context, *envelope.Request) (*strictjson.Value, error) { panic(any((*Failure)(nil))) }, 0},
		{"ends its goroutine", "failed/internal_error", func(context.Context, *envelope.Request) (*strictjson.Value, error) {
			runtime.Goexit()
			return nil, nil
		}, 0},
		{"heeds the deadline", "timeout/dispatch_timeout", func(ctx context.Context, _ *envelope.Request) (*strictjson.Value, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, 20 * time.Millisecond},
		{"success after the deadline", "timeout/dispatch_timeout", func(ctx context.Context, _ *envelope.Request) (*strictjson.Value, error) {
			<-ctx.Done()
			return &value, nil
		}, 20 * time.Millisecond},
		{"none", "unavailable/bridge_not_configured", nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			settled(t)
			f := Func(map[string]Handler{"workspace.read": c.handler}, c.timeout)
			res := f.Dispatch(context.Background(), request())
			check(t, res, c.want)
			if text := string(res.Encode()); strings.Contains(text, "s3cret") {
				t.Errorf("told: %s", text)
			}
		})
	}
	check(t, (&Functions{}).Dispatch(context.Background(), request()), "unavailable/bridge_not_configured")
}

func TestFuncDoesNotWait(t *testing.T) {
	release, ended := make(chan struct{}), make(chan struct{})
	f := Func(map[string]Handler{"workspace.read": func(context.Context, *envelope.Request) (*strictjson.Value, error) {
		defer close(ended)
		<-release
		return nil, nil
	}}, 50*time.Millisecond)
	check(t, f.Dispatch(context.Background(), request()), "timeout/dispatch_timeout")
	close(release)
	<-ended
}

func TestFuncCallerGone(t *testing.T) {
	t.Run("bg/A82", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		began := make(chan struct{})
		f := Func(map[string]Handler{"workspace.read": func(ctx context.Context, _ *envelope.Request) (*strictjson.Value, error) {
			close(began)
			<-ctx.Done()
			return nil, nil
		}}, 0)
		result := make(chan *envelope.Result)
		go func() { result <- f.Dispatch(ctx, request()) }()
		<-began
		cancel()
		check(t, <-result, "failed/caller_gone")
	})
}

// What is configured later changes nothing.
func TestFuncKeepsItsHandlers(t *testing.T) {
	handlers := map[string]Handler{}
	f := Func(handlers, 0)
	handlers["workspace.read"] = func(context.Context, *envelope.Request) (*strictjson.Value, error) { return nil, nil }
	check(t, f.Dispatch(context.Background(), request()), "unavailable/bridge_not_configured")
}

// A handler of JSON reads the input as text, and its output is held to be JSON.
func TestJSON(t *testing.T) {
	if JSON(nil) != nil {
		t.Error("a handler of nothing")
	}
	for _, c := range []struct{ name, out, want, text string }{
		{"no JSON", `{"a":`, "failed/internal_error", ""},
		{"two values", `1 2`, "failed/internal_error", ""},
		{"two readings", `{"a":1,"a":2}`, "failed/internal_error", ""},
		{"none", "", "succeeded", ""},
		{"an object", `{ "a": 1.50 }`, "succeeded", `{"a":1.50}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Func(map[string]Handler{"workspace.read": JSON(func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
				if !strings.Contains(string(in), `"path":"README.md"`) {
					return nil, errors.New("another request")
				}
				return json.RawMessage(c.out), nil
			})}, 0)
			res := f.Dispatch(context.Background(), request())
			check(t, res, c.want)
			if got := string(res.OutputJSON()); got != c.text {
				t.Errorf("the output is %q, want %q", got, c.text)
			}
		})
	}
	failing := Func(map[string]Handler{"workspace.read": JSON(func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{}`), &Failure{Status: envelope.Denied, Code: "permission_denied", Message: "not this one"}
	})}, 0)
	check(t, failing.Dispatch(context.Background(), request()), "denied/permission_denied")
}
