package main

import (
	"errors"
	"os"
	"runtime"
	"strings"

	"brainbox/internal/setuid"
	"brainbox/internal/setuid/early"
	_ "brainbox/internal/setuid/early/quoted" // before anything else: see there
	"brainbox/internal/version"
	"brainbox/internal/visible"
	"brainbox/launcher"
	"brainbox/policy"
)

func main() {
	// There is one goroutine. With a processor free the runtime wakes threads to look for
	// another, which is a tenth of a start. The program does not inherit it.
	runtime.GOMAXPROCS(1)
	os.Exit(run(os.Args))
}

// run returns only if nothing was started. Every refusal is 126, a program that does
// not exist 127 (docs/interfaces.md).
func run(args []string) int {
	switch {
	case len(args) == 2 && args[1] == "--help":
		setuid.Relinquish()
		_, _ = os.Stdout.WriteString(usage)
		return 0
	case len(args) == 2 && args[1] == "--version":
		setuid.Relinquish()
		_, _ = os.Stdout.WriteString("brainbox-exec " + version.String() + "\n")
		return 0
	case len(args) < 2 || !strings.HasPrefix(args[1], "/"):
		return fail(&launcher.Refusal{
			Status: launcher.StatusNotRun, Message: "the first argument is the absolute path of a program",
			Hint: "brainbox-exec /abs/program [ARG]…",
		})
	}
	facts, plan, err := decide(os.Environ(), args[1:])
	if err == nil {
		err = plan.BecomeProgram(facts)
	}
	return fail(err)
}

// decide is the plan, and in a set-uid start the change to the identity as well.
func decide(environ, argv []string) (*launcher.Facts, *launcher.Plan, error) {
	start := setuid.Look()
	raised, err := start.Judge()
	if err != nil {
		return nil, nil, err
	}
	if !raised {
		return launcher.ExecPlan(environ, argv)
	}
	limits := setuid.Begin()
	if err := setuid.Room(); err != nil {
		return nil, nil, err
	}
	environ = early.Environ() // the runtime's copy has what the runtime added
	os.Clearenv()             // no package is to find TZ, TMPDIR or the like
	return launcher.ExecPlanRaised(start.RUID, limits, environ, argv)
}

func fail(err error) int {
	status, message, hint := launcher.StatusNotRun, err.Error(), ""
	var r *launcher.Refusal
	var bad *policy.Error
	var start *setuid.Refusal
	switch {
	case errors.As(err, &start):
		message, hint = start.Message, start.Hint
	case errors.As(err, &r):
		message, hint = r.Message, r.Hint
		if r.Status == launcher.StatusNotFound {
			status = r.Status
		}
	case errors.As(err, &bad):
		message, hint = bad.Error(), bad.Hint
	}
	text := "brainbox-exec: " + visible.Line(message) + "\n"
	if hint != "" {
		text += "brainbox-exec: hint: " + visible.Line(hint) + "\n"
	}
	setuid.Relinquish()
	_, _ = os.Stderr.WriteString(text)
	return status
}

const usage = `usage: brainbox-exec /abs/program [ARG]…

Becomes the program, with the same process number, confined by
/etc/brainbox/exec.toml. There are no other flags.

  --help      this text
  --version   the version

Exit status: the program's; 126 if it was not started; 127 if it does not exist.
See brainbox-exec(8), and brainbox.toml(5) for the policy.
`
