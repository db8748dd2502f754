package launcher

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/strictjson"
	"brainbox/internal/version"
	"brainbox/policy"
	"brainbox/seccomp"
)

// Compiled is a user's seccomp profile as brainbox-seccomp compiled it.
type Compiled struct {
	Program seccomp.Program
	Dropped []string // names of an allow list that are unknown, and so refused
}

const maxProfile = 1 << 20

// CompileProfile compiles an OCI seccomp profile with brainbox-seccomp. That program is
// linked with a C library and reads what a user wrote, so it is run confined by brainbox
// itself, with no file, no network and ten seconds; and what it answers is checked by
// package seccomp's own emulator before it is trusted.
func CompileProfile(path string) (*Compiled, error) {
	out, err := askCompiler(path)
	if err != nil {
		return nil, err
	}
	got, err := readCompiled(out)
	if err != nil {
		return nil, &Refusal{Status: StatusRefused, Clause: "seccomp", Message: "brainbox-seccomp: " + err.Error()}
	}
	return got, nil
}

// askCompiler runs brainbox-seccomp on the profile at path and returns its answer.
func askCompiler(path string, flags ...string) ([]byte, error) {
	in, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a FIFO would never open
	if err != nil {
		return nil, &Refusal{Status: StatusRefused, Clause: "seccomp", Message: "seccomp profile: " + err.Error(), Hint: "default, debug, none, or an OCI profile"}
	}
	defer in.Close()
	if st, err := in.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() > maxProfile {
		return nil, &Refusal{Status: StatusRefused, Clause: "seccomp", Message: quotePath(path) + " is not a regular file of at most 1 MiB"}
	}
	out, errText, status, err := runHelper("brainbox-seccomp", in, append([]string{"--protocol=1"}, flags...)...)
	if err != nil {
		return nil, err
	}
	if status != 0 {
		return nil, &Refusal{Status: StatusRefused, Clause: "seccomp", Message: quotePath(path) + ": " + firstOf(helperLine(errText), fmt.Sprintf("brainbox-seccomp ended with status %d", status))}
	}
	return out, nil
}

// helperLine is the message of a helper's first line.
func helperLine(text []byte) string {
	line := firstLine(string(text))
	for _, prefix := range [...]string{"brainbox-seccomp: ", "brainbox: ", "host: ", "seccomp: ", "compile: "} {
		line = strings.TrimPrefix(line, prefix)
	}
	return line
}

// readCompiled checks an answer of brainbox-seccomp.
func readCompiled(text []byte) (*Compiled, error) {
	v, err := strictjson.Decode(text, strictjson.Limits{})
	if err != nil {
		return nil, err
	}
	b := strictjson.BindLenient(v)
	protocol := b.Int("protocol", 0, 1<<30)
	theirs := b.String("version")
	encoded := b.String("bpf")
	dropped := b.Strings("dropped", 4096)
	if err := b.Err(); err != nil {
		return nil, err
	}
	if protocol != 1 || theirs != version.String() {
		return nil, fmt.Errorf("it speaks protocol %d of version %q, this is version %q", protocol, theirs, version.String())
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, err
	}
	p, err := seccomp.Decode(raw)
	if err == nil {
		err = seccomp.Check(p)
	}
	if err == nil {
		err = startable(p)
	}
	if err != nil {
		return nil, err
	}
	return &Compiled{Program: p, Dropped: dropped}, nil
}

// observeSeccomp has the profile that the policy names compiled.
func (f *Facts) observeSeccomp(p *policy.Policy) {
	s := p.Process.Seccomp.V
	if s.Kind != "file" {
		return
	}
	got, err := CompileProfile(s.File.Abs)
	if err != nil {
		f.SeccompErr = err
		return
	}
	f.Seccomp, f.SeccompDropped = got.Program, got.Dropped
}

// startable refuses a filter under which the start itself could not end: the program
// must be executed, and a failure must be told.
func startable(p seccomp.Program) error {
	for _, name := range [...]string{"execve", "rt_sigprocmask", "write", "exit_group"} {
		v, err := seccomp.Explain(p, name)
		if err != nil {
			return err
		}
		if !v.Depends() && !v.Allowed() {
			return fmt.Errorf("it refuses %s, without which no program starts", name)
		}
	}
	return nil
}
