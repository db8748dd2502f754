package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/bridge/bridgetest"
	"brainbox/bridge/envelope"
)

// actEnv says what a process of these tests does with descriptor 3.
const actEnv = "BRAINBOX_CLIENT_TEST"

func TestMain(m *testing.M) {
	if act := os.Getenv(actEnv); act != "" {
		if err := actOn(act); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func actOn(act string) error {
	ctx := context.Background()
	if act == "break" { // within a frame
		_, err := unix.Write(3, []byte(`{"jsonrpc":"2.0","id":"a","method":"pi`))
		return err
	}
	o := Options{Wait: 20 * time.Second}
	if act == "impatient" {
		o.Wait = 50 * time.Millisecond
	}
	c, err := Open(ctx, o)
	if err != nil {
		return err
	}
	for i := range 20 {
		want := fmt.Sprint(os.Getpid(), i)
		res, err := c.Call(ctx, "x", text(want))
		if err != nil || res.Status != envelope.Succeeded || res.Output.Text != want {
			return fmt.Errorf("%+v, %w", res, err)
		}
	}
	switch act {
	case "hold":
		fmt.Println("holds")
		_, _ = os.Stdin.Read(make([]byte, 1))
	case "leave": // an answer behind
		go func() { _, _ = c.Call(ctx, "slow", text(strings.Repeat("z", 100_000))) }()
		time.Sleep(20 * time.Millisecond)
		os.Exit(0)
	}
	return nil
}

// inherited serves one end of a pair of sockets, and starts processes with the other.
func inherited(t *testing.T) func(act string) *exec.Cmd {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(ends[0]), "ours"), os.NewFile(uintptr(ends[1]), "theirs")
	t.Cleanup(func() { _ = errors.Join(ours.Close(), theirs.Close()) })
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	host := bridgetest.Start(t, &bridgetest.Host{Call: func(ctx context.Context, r *envelope.Request) *envelope.Result {
		if r.Tool == "slow" {
			time.Sleep(40 * time.Millisecond)
		}
		return echo(ctx, r)
	}})
	go host.Serve(conn)
	return func(act string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), actEnv+"="+act, EnvSocket+"=", EnvFD+"=3")
		cmd.ExtraFiles = []*os.File{theirs}
		return cmd
	}
}

func runs(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Processes that share one descriptor take turns, and no answer goes astray.
func TestInheritedDescriptorIsShared(t *testing.T) {
	process := inherited(t)
	runs(t, process("call"))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { runs(t, process("call")) })
	}
	wg.Wait()
}

// What a process left on the stream is not taken for an answer to the next one.
func TestInheritedDescriptorAfterAnother(t *testing.T) {
	for _, act := range []string{"break", "leave"} {
		t.Run(act, func(t *testing.T) {
			process := inherited(t)
			runs(t, process(act))
			runs(t, process("call"))
			time.Sleep(60 * time.Millisecond)
			runs(t, process("call"))
		})
	}
}

// Who waits in vain is told which process has the descriptor.
func TestInheritedDescriptorInUse(t *testing.T) {
	process := inherited(t)
	holder := process("hold")
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	got, err := process("impatient").CombinedOutput()
	if want := fmt.Sprintf("process %d has the bridge on descriptor 3", holder.Process.Pid); err == nil || !strings.Contains(string(got), want) {
		t.Errorf("%v, %q, want %q", err, got, want)
	}
	if err := errors.Join(in.Close(), holder.Wait()); err != nil {
		t.Error(err)
	}
	runs(t, process("call"))
}

func TestDescriptorThatIsNone(t *testing.T) {
	t.Setenv(EnvSocket, "")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for _, value := range []string{"2", "-1", "x", "03", "99999999", "1000000", fmt.Sprint(r.Fd())} {
		t.Setenv(EnvFD, value)
		if c, err := Open(t.Context(), Options{}); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("%s: %v, %v", value, c, err)
		}
	}
}

// A process that has a descriptor already is told so, and may have it again afterwards.
func TestDescriptorTwiceInOneProcess(t *testing.T) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours := os.NewFile(uintptr(ends[0]), "ours")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	host := bridgetest.Start(t, &bridgetest.Host{Call: echo})
	go host.Serve(conn)
	c, err := Open(t.Context(), Options{FD: ends[1]})
	if err != nil {
		t.Fatal(err)
	}
	var used *InUseError
	if _, err := Open(t.Context(), Options{FD: ends[1]}); !errors.As(err, &used) || used.PID != os.Getpid() {
		t.Errorf("a second client of the descriptor: %v", err)
	}
	if err := errors.Join(c.Ping(t.Context()), c.Close()); err != nil {
		t.Error(err)
	}
}
