//go:build cgo

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"

	"brainbox/internal/version"
	"brainbox/seccomp/compile"
)

// protocol is what this version speaks; the other side names the one it wants.
const protocol = 1

const statusFailed = 125

const usage = `usage: brainbox-seccomp [--protocol=1] [--lint] <profile.json

Compiles an OCI seccomp profile (the "seccomp" object of a runtime
configuration) for this machine and writes, as one JSON object:

  protocol    1
  version     of brainbox-seccomp
  arch        amd64 or arm64
  bpf         the program, as struct sock_filter, in base64
  dropped     names in the profile that this machine does not have
  libseccomp  version of the library

With --lint it judges the profile instead; the object then has, in place of bpf
and dropped, what brainbox policy validate prints.

  --protocol=N  fail unless N is 1
  --lint        judge, do not compile
  --version     print the versions
  --help        print this text

Exit status: 0, or 125 with the reason on standard error.
`

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is main with its surroundings passed in; it returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out, err := output(args, stdin)
	if err == nil {
		_, err = stdout.Write(out)
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "brainbox: seccomp: %v\n", err)
		return statusFailed
	}
	return 0
}

// output returns everything that standard output gets, or nothing.
func output(args []string, stdin io.Reader) ([]byte, error) {
	judge := false
	for _, arg := range args {
		switch arg {
		case "--lint":
			judge = true
		case "--help", "-h":
			return []byte(usage), nil
		case "--version":
			return fmt.Appendf(nil, "brainbox-seccomp %s (protocol %d, libseccomp %s)\n",
				version.String(), protocol, compile.Version()), nil
		case fmt.Sprintf("--protocol=%d", protocol):
		default:
			return nil, fmt.Errorf("%q: brainbox-seccomp %s takes only --protocol=%d", arg, version.String(), protocol)
		}
	}
	if judge {
		return lintOutput(stdin)
	}
	profile, err := read(stdin)
	if err != nil {
		return nil, err
	}
	result, err := compile.Compile(profile)
	if err != nil {
		return nil, err
	}
	return encode(result)
}

// report is the shape of the answer.
type report struct {
	Protocol   int      `json:"protocol"`
	Version    string   `json:"version"`
	Arch       string   `json:"arch"`
	BPF        string   `json:"bpf"`
	Dropped    []string `json:"dropped"`
	Libseccomp string   `json:"libseccomp"`
}

func encode(r compile.Result) ([]byte, error) {
	text, err := json.Marshal(report{
		Protocol: protocol, Version: version.String(), Arch: runtime.GOARCH,
		BPF:     base64.StdEncoding.EncodeToString(r.Program.Bytes()),
		Dropped: append([]string{}, r.Dropped...), Libseccomp: r.Library,
	})
	return append(text, '\n'), err
}
