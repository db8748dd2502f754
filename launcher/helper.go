package launcher

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/toolask"
	"brainbox/policy"
)

// maxReply bounds what a helper writes, in bytes.
const maxReply = toolask.MaxText

// AskTool has brainbox-host say what a call of a tool would be met with, or what is wrong
// with the [gate] part of a policy. It parses shell texts, so it is run like the compiler
// of profiles: confined.
func AskTool(r *toolask.Request) (toolask.Reply, error) {
	in, err := memory(r.Encode())
	if err != nil {
		return toolask.Reply{}, err
	}
	defer in.Close()
	out, errText, status, err := runHelper("brainbox-host", in, "tool", fmt.Sprintf("--protocol=%d", toolask.Protocol))
	if err != nil {
		return toolask.Reply{}, err
	}
	if status != 0 {
		return toolask.Reply{}, &Refusal{Status: StatusRefused, Message: firstOf(helperLine(errText), fmt.Sprintf("brainbox-host ended with status %d", status))}
	}
	got, err := toolask.DecodeReply(out)
	if err != nil {
		return toolask.Reply{}, &Refusal{Status: StatusRefused, Message: "brainbox-host: " + err.Error(), Hint: "install it from the same build"}
	}
	return got, nil
}

// memory is a file in memory that holds a text (memfd_create(2), Linux 3.17).
func memory(text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("brainbox-request", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "request")
	if _, err = f.Write(text); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// runHelper runs a sibling on a text and returns what it wrote. It reads what others
// wrote, so it is confined by brainbox itself: with no file but its own, no network and
// ten seconds. Nothing keeps it from seeing where a path leads (O_PATH, open(2)).
func runHelper(name string, in *os.File, args ...string) (out, errOut []byte, status int, err error) {
	helper, err := openSibling(name)
	if err != nil {
		return nil, nil, 0, err
	}
	defer helper.Close()
	place, err := Look(nil)
	if err != nil {
		return nil, nil, 0, err
	}
	pol := helperPolicy(name, helper.Name())
	facts, err := Observe(pol, place, Request{Command: append([]string{helper.Name()}, args...)})
	if err != nil {
		return nil, nil, 0, err
	}
	defer facts.Close()
	facts.Terminal, facts.ReadBack, facts.GitConfig, facts.Handed = false, [3]bool{}, nil, [3]HandedFact{}
	plan := NewPlan(pol, facts)
	stdout, stderr, collect, err := collectors()
	if err != nil {
		return nil, nil, 0, err
	}
	res, err := plan.Run(facts, Options{Stdio: [3]int{int(in.Fd()), int(stdout.Fd()), int(stderr.Fd())}})
	_ = errors.Join(stdout.Close(), stderr.Close())
	out, errOut = collect()
	if err != nil {
		return nil, nil, 0, err
	}
	return out, errOut, res.Status, nil
}

// helperPolicy grants the helper's own file and nothing else.
func helperPolicy(name, helper string) *policy.Policy {
	p := &policy.Policy{Sources: []policy.Source{{Kind: policy.KindProfile, Name: name}}}
	p.Grants = []policy.Grant{{Path: policy.Path{Text: helper, Abs: helper}, Right: policy.RightExec}}
	p.Sandbox.Isolation = policy.Value[string]{V: "landlock", Set: true} // all that it needs
	p.Process.Timeout = policy.Value[time.Duration]{V: 10 * time.Second, Set: true}
	return p
}

// collectors makes two pipes and reads both until they end.
func collectors() (stdout, stderr *os.File, collect func() (out, errOut []byte), err error) {
	var files [4]*os.File
	for i := 0; i < 4; i += 2 {
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			for _, f := range files {
				_ = f.Close()
			}
			return nil, nil, nil, err
		}
	}
	read := func(f *os.File) <-chan []byte {
		ch := make(chan []byte, 1)
		go func() {
			b, _ := io.ReadAll(io.LimitReader(f, maxReply))
			_ = f.Close()
			ch <- b
		}()
		return ch
	}
	a, b := read(files[0]), read(files[2])
	return files[1], files[3], func() ([]byte, []byte) { return <-a, <-b }, nil
}
