package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"brainbox/bridge/bridgetest"
	"brainbox/bridge/envelope"
	"brainbox/bridge/wire"
)

// The host is told of the end of a context, and says what became of the call.
func TestCancel(t *testing.T) {
	began, told := make(chan bool, 2), make(chan bool, 2)
	h := &bridgetest.Host{Call: func(ctx context.Context, r *envelope.Request) *envelope.Result {
		began <- true
		<-ctx.Done()
		told <- true
		return r.Succeed(nil)
	}}
	c := open(t, h)
	took := time.Hour
	for tries := 0; took > lastWord && tries < 10; tries++ { // on a busy machine one may take long
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-began; cancel() }()
		start := time.Now()
		res, err := c.Call(ctx, "x", nil)
		if !errors.Is(err, context.Canceled) || res != nil {
			t.Errorf("%+v, %v", res, err)
		}
		<-told
		took = min(took, time.Since(start))
	}
	if took > lastWord {
		t.Errorf("it took %v although the host answered", took)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("the connection is of no more use: %v", err)
	}
}

// A call that was over when it was cancelled has its result: it has happened.
func TestCancelThatComesTooLate(t *testing.T) {
	began, seen := make(chan string, 1), make(chan struct{})
	h := &bridgetest.Host{Raw: func(line []byte, w io.Writer) bool {
		m, err := wire.DecodeRequest(line)
		switch {
		case err == nil && m.Method == wire.MethodToolCall:
			r, err := envelope.RequestOf(m.Params)
			if err != nil {
				t.Error(err)
			}
			began <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":%s}`+"\n", m.ID, r.Succeed(text("done")).Encode())
			close(seen)
			return true
		case err == nil && m.Method == wire.MethodCancel:
			_, _ = io.WriteString(w, <-began)
			return true
		}
		return false
	}}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-seen; cancel() }()
	res, err := open(t, h).Call(ctx, "x", nil)
	if err != nil || res.Status != envelope.Succeeded {
		t.Errorf("%+v, %v", res, err)
	}
}

// Answers that come in another order find their calls.
func TestManyAtOnce(t *testing.T) {
	h := &bridgetest.Host{Call: func(_ context.Context, r *envelope.Request) *envelope.Result {
		time.Sleep(time.Duration(len(r.Input.Text)%7) * time.Millisecond)
		return r.Succeed(&r.Input)
	}}
	c := open(t, h)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				want := strings.Repeat("x", (i*31+j*7)%4000)
				res, err := c.Call(t.Context(), "x", text(want))
				if err != nil || res.Status != envelope.Succeeded || res.Output.Text != want {
					t.Errorf("%+v, %v", res, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if len(c.conn.waiting) != 0 {
		t.Errorf("%d calls are still waited for", len(c.conn.waiting))
	}
}

func TestLinksLittle(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 30 {
		t.Fatalf("%d packages: the list is not whole", len(deps))
	}
	for _, dep := range deps {
		if dep == "net" || dep == "net/http" || dep == "os/exec" || dep == "encoding/json" || strings.HasPrefix(dep, "mvdan.cc/") ||
			strings.HasPrefix(dep, "brainbox/gate") || strings.Contains(dep, "modelcontextprotocol") {
			t.Errorf("a client links %s", dep)
		}
	}
}

// A call whose context has ended is not made.
func TestCallAfterTheEnd(t *testing.T) {
	h := &bridgetest.Host{Call: echo}
	c := open(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Call(ctx, "x", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if res, err := c.Call(t.Context(), "x", nil); err != nil || res.Status != envelope.Succeeded {
		t.Errorf("the control: %+v, %v", res, err)
	}
	if n := len(h.Calls()); n != 1 {
		t.Errorf("the host had %d calls", n)
	}
}
