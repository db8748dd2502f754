package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// treeScript makes 1 000 processes that wait for ever, one in four in a session of its own,
// and holds them by a pipe.
const treeScript = `exec 3<&0
i=0; while [ $i -lt 750 ]; do ( read x <&3 ) & i=$((i+1)); done
setsid sh -c 'i=0; while [ $i -lt 249 ]; do ( read x <&3 ) & i=$((i+1)); done; echo ready; read x <&3' &
read x <&3`

// treeRows measures the end of 1 000 processes: from the signal that ends the program to the
// end of brainbox, which has then seen that nobody is left, and has cleared up. Every
// process holds the pipe that is read to its end.
func (o *options) treeRows(env []string) ([]row, error) {
	isolations := []string{"namespaces", "landlock"}
	got, err := interleave(isolations, 1, o.long, func(isolation string) (sample, error) {
		return o.endTree(env, isolation)
	})
	if err != nil {
		return nil, err
	}
	return []row{
		bounded("ms, end of 1 000 processes, proven, --isolation namespaces", got.time("namespaces"), 60),
		plain("ms, end of 1 000 processes, --isolation landlock", got.time("landlock"), "%.1f"),
	}, nil
}

func (o *options) endTree(env []string, isolation string) (sample, error) {
	cmd := exec.CommandContext(context.Background(), filepath.Join(o.bin, "brainbox"), "run", "-q",
		"--isolation", isolation, "--policy", o.inside, "--", "/bin/sh", "-c", treeScript)
	cmd.Env, cmd.Dir = env, o.quiet
	in, err := cmd.StdinPipe()
	if err != nil {
		return sample{}, err
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return sample{}, err
	}
	defer out.Close()
	if err := cmd.Start(); err != nil {
		return sample{}, err
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil {
		return sample{}, fmt.Errorf("the tree was not made: %q, %w, %w", line, err, errors.Join(in.Close(), cmd.Wait()))
	}
	before := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return sample{}, err
	}
	_, err = cmd.Process.Wait()
	took := time.Since(before)
	if err != nil {
		return sample{}, err
	}
	ended := make(chan error, 1)
	go func() { _, err := io.Copy(io.Discard, lines); ended <- err }()
	select {
	case err = <-ended:
	case <-time.After(10 * time.Second):
		err = errors.New("somebody of the tree is still there")
	}
	return sample{ms: float64(took.Nanoseconds()) / 1e6}, err
}
