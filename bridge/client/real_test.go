package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/bridge/bridgetest"
	"brainbox/bridge/client"
	"brainbox/bridge/envelope"
	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

const rules = `{"*":"allow","bash":"allow","write":{"*":"allow","*secret*":"deny","*asked*":"ask"},"read":"allow","external_directory":"allow"}`

// agent is a client of a real bridge.
func agent(t *testing.T, r *bridgetest.Real) *client.Client {
	t.Helper()
	c, err := client.Open(t.Context(), client.Options{Socket: r.Agent})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func input(t *testing.T, text string) *strictjson.Value {
	t.Helper()
	v, err := strictjson.Decode([]byte(text), strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The conformance of a mediated write (section E.9): what is denied leaves no file, what is
// allowed writes the very content.
func TestRealWrites(t *testing.T) {
	r := bridgetest.StartReal(t, rules)
	c := agent(t, r)
	if roots := c.Roots(); len(roots) != 1 || roots[0].Name != "repo" || roots[0].Path != r.Dir {
		t.Errorf("roots %+v", roots)
	}
	for _, test := range []struct{ path, status, code string }{
		{"a/secret", "denied", envelope.CodePermissionDenied},
		{"../x", "failed", "invalid_target"},
		{"asked", "unavailable", envelope.CodeConfirmationUnavailable},
		{"a/fine", "succeeded", ""},
	} {
		res, err := c.Call(t.Context(), "write_file", input(t, `{"path":"`+test.path+`","content":"the text","base":null}`))
		if err != nil {
			t.Fatal(err)
		}
		code := ""
		if res.Err != nil {
			code = res.Err.Code
		}
		if string(res.Status) != test.status || code != test.code {
			t.Errorf("%s: %s %s", test.path, res.Status, code)
		}
		got, err := os.ReadFile(filepath.Join(r.Dir, test.path))
		if test.status != "succeeded" && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there: %q, %v", test.path, got, err)
		}
		if test.status == "succeeded" && string(got) != "the text" {
			t.Errorf("%s: %q, %v", test.path, got, err)
		}
	}
}

// An operator sees what happens, answers, and takes an approval back.
func TestRealOperator(t *testing.T) {
	r := bridgetest.StartReal(t, rules)
	other := filepath.Join(filepath.Dir(r.KeyFile), "other")
	if err := wire.WriteKey(other, wire.NewKey()); err != nil {
		t.Fatal(err)
	}
	if u, err := client.OpenUI(t.Context(), r.UI, other); err == nil {
		t.Fatalf("another key opened %+v", u)
	}
	u, err := client.OpenUI(t.Context(), r.UI, r.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if _, err := u.Subscribe(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	c := agent(t, r)
	for _, decision := range []string{"deny", "approve", "approve_session"} {
		done := make(chan *envelope.Result, 1)
		path := "asked-" + decision
		go func() {
			res, err := c.Call(t.Context(), "write_file", input(t, `{"path":"`+path+`","content":"x","base":null}`))
			if err != nil {
				t.Error(err)
			}
			done <- res
		}()
		p := prompted(t, u)
		reply := client.Reply{RequestID: p.Get("requestId").Text, Digest: strings.Repeat("0", 64), Decision: decision}
		var e *wire.Error
		if err := u.Answer(t.Context(), reply); !errors.As(err, &e) || e.Code != wire.CodeStalePrompt {
			t.Errorf("an answer for another snapshot: %v", err)
		}
		reply.Digest = p.Get("digest").Text
		if err := u.Answer(t.Context(), reply); err != nil {
			t.Fatal(err)
		}
		res := <-done
		if allowed := decision != "deny"; allowed != (res.Status == envelope.Succeeded) {
			t.Errorf("%s: %+v %+v", decision, res, res.Err)
		}
	}
	grants, err := u.Grants(t.Context())
	if err != nil || len(grants) != 1 {
		t.Fatalf("%d approvals, %v", len(grants), err)
	}
	for _, want := range []bool{true, false} {
		if got, err := u.Revoke(t.Context(), grants[0].Get("id").Text); err != nil || got != want {
			t.Errorf("revoke: %v, %v", got, err)
		}
	}
}

// prompted reads events until a prompt is pending, and returns it.
func prompted(t *testing.T, u *client.UI) *strictjson.Value {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		e, err := u.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if e.Topic != "permissions:ui_prompt" {
			continue
		}
		list, err := u.Prompts(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 1 {
			return &list[0]
		}
	}
}

func TestRealAsking(t *testing.T) {
	r := bridgetest.StartReal(t, rules)
	c := agent(t, r)
	for value, want := range map[string]string{"a": "allow", "x/secret": "deny", "asked": "ask"} {
		if a, err := c.Check(t.Context(), client.Question{Surface: "write", Value: value}); err != nil || a.Result != want {
			t.Errorf("%s: %+v, %v", value, a, err)
		}
	}
	var e *wire.Error
	if _, err := c.Check(t.Context(), client.Question{Surface: "nope"}); !errors.As(err, &e) || e.Code != wire.CodeSurfaceUnknown {
		t.Errorf("an unknown surface: %v", err)
	}
	if said, err := c.Prompt(t.Context(), client.Question{Surface: "write", Value: "asked", Message: "please"}); !errors.Is(err, client.ErrNoUI) {
		t.Errorf("nobody is there: %+v, %v", said, err)
	}
}

// One descriptor serves one client after the other, also long after it was handed over.
func TestRealInherited(t *testing.T) {
	r := bridgetest.StartReal(t, rules)
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours := os.NewFile(uintptr(ends[0]), "ours")
	conn, err := net.FileConn(ours)
	if err := errors.Join(err, ours.Close()); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- r.Server.ServeConn(context.Background(), conn) }()
	for i := range 3 {
		fd, err := unix.FcntlInt(uintptr(ends[1]), unix.F_DUPFD_CLOEXEC, 10)
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.Open(t.Context(), client.Options{FD: fd})
		if err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
		res, err := c.Call(t.Context(), "mkdir", input(t, fmt.Sprintf(`{"path":"d%d"}`, i)))
		if err != nil || res.Status != envelope.Succeeded {
			t.Errorf("client %d: %+v, %v", i, res, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := unix.Close(ends[1]); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Errorf("at the end: %v", err)
	}
}

// More connections than the host takes wait for a place; none is lost.
func TestRealManyClients(t *testing.T) {
	r := bridgetest.StartReal(t, rules)
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			c, err := client.Open(t.Context(), client.Options{Socket: r.Agent, Wait: 20 * time.Second})
			if err != nil {
				t.Errorf("client %d: %v", i, err)
				return
			}
			defer c.Close()
			res, err := c.Call(t.Context(), "write_file", input(t, fmt.Sprintf(`{"path":"f%d","content":"x","base":null}`, i)))
			if err != nil || res.Status != envelope.Succeeded {
				t.Errorf("client %d: %+v, %v", i, res, err)
			}
		})
	}
	wg.Wait()
	if files, err := os.ReadDir(r.Dir); err != nil || len(files) != 24 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

func echo(_ context.Context, r *envelope.Request) *envelope.Result { return r.Succeed(&r.Input) }
