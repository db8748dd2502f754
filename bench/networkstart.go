package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The starts of /bin/true: to its end, and until brainbox says that it has started.
const (
	netNone, netProxy         = "--net none", "--net proxy"
	untilStarted              = ", until it has started"
	startedNone, startedProxy = netNone + untilStarted, netProxy + untilStarted
	byDefault                 = ", the default policy"
	defaultNone, defaultProxy = netNone + byDefault, netProxy + byDefault
)

// networkStarts measures /bin/true with a network by name and without one.
func (o *options) networkStarts(out io.Writer, w *world, env []string) error {
	none, proxy := filepath.Join(o.root, "none.toml"), filepath.Join(o.root, "proxy.toml")
	err := errors.Join(write(none, policyText(o.work, "", "", `isolation = "namespaces"`)), write(proxy, o.startText(w)))
	if err != nil {
		return err
	}
	process, err := newPipe(env, filepath.Join(o.bin, "starter"))
	if err != nil {
		return err
	}
	run := func(flags ...string) []string {
		argv := append([]string{filepath.Join(o.bin, "brainbox"), "run", "-q", "--isolation", "namespaces"}, flags...)
		return append(argv, "--", "/bin/true")
	}
	start := func(flags ...string) func() (sample, error) {
		return func() (sample, error) { return starter{process}.start(command{o.work, run(flags...)}) }
	}
	takes := map[string]func() (sample, error){
		netNone:      start("--policy", none),
		netProxy:     start("--policy", proxy),
		startedNone:  func() (sample, error) { return o.started(env, run("--policy", none, "--status-fd", "3")) },
		startedProxy: func() (sample, error) { return o.started(env, run("--policy", proxy, "--status-fd", "3")) },
		defaultNone:  start("--net", "none"),
		defaultProxy: start("--net", "proxy", "--allow-host", w.named(), "--resolver", w.dns.LocalAddr().String()),
	}
	names := []string{netNone, netProxy, startedNone, startedProxy, defaultNone, defaultProxy}
	got, err := interleave(names, o.warm, o.rounds, func(name string) (sample, error) { return takes[name]() })
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nStarts of /bin/true in namespaces as uid %d, %d rounds:\n\n", os.Getuid(), o.rounds)
	table(out, networkStartRows(got))
	return process.close()
}

// networkStartRows judges them.
func networkStartRows(s samples) []row {
	return []row{
		plain("ms, brainbox run "+netNone, s.time(netNone), "%.2f"),
		plain("ms, brainbox run "+netProxy, s.time(netProxy), "%.2f"),
		bounded("ms more, "+netProxy, s.difference(netProxy, netNone), 4),
		plain("ms, "+startedNone, s.time(startedNone), "%.2f"),
		plain("ms, "+startedProxy, s.time(startedProxy), "%.2f"),
		plain("ms more, "+startedProxy, s.difference(startedProxy, startedNone), "%.2f"),
		plain("ms, "+defaultNone, s.time(defaultNone), "%.2f"),
		plain("ms, "+defaultProxy, s.time(defaultProxy), "%.2f"),
		bounded("ms more, "+defaultProxy, s.difference(defaultProxy, defaultNone), 4),
	}
}

// started runs one command with a pipe for its status lines, and is what it took until it
// said that its program had started.
func (o *options) started(env, argv []string) (sample, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return sample{}, err
	}
	defer read.Close()
	cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.ExtraFiles = o.work, env, os.Stderr, []*os.File{write}
	begin := time.Now()
	err = cmd.Start()
	_ = write.Close() // the child has its own
	if err != nil {
		return sample{}, err
	}
	line, err := bufio.NewReader(read).ReadString('\n')
	took := time.Since(begin)
	if err != nil || !strings.Contains(line, `"event":"started"`) {
		err = fmt.Errorf("%q: the first status line is %q: %w", argv, line, err)
		_ = cmd.Wait()
		return sample{}, err
	}
	return sample{ms: took.Seconds() * 1e3}, cmd.Wait()
}

// networkOfCaller measures the starts as who called bench, before it gives up root.
func (o *options) networkOfCaller(out io.Writer) error {
	mine := *o
	mine.root = filepath.Join(o.root, "caller")
	mine.work = filepath.Join(mine.root, "work")
	if err := os.Mkdir(mine.root, 0o700); err != nil {
		return err
	}
	w, err := newWorld()
	if err != nil {
		return err
	}
	defer w.close()
	env, err := mine.prepare()
	if err != nil {
		return err
	}
	return mine.networkStarts(out, w, env)
}
