package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"brainbox/launcher"
)

// refused is the status when the agent did not run, or without a receipt: that of brainbox
// itself.
const refused = 125

func main() {
	status, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "backend:", err)
	}
	os.Exit(status)
}

// run is one session. It returns the agent's status.
func run(args []string) (status int, err error) {
	flags := flag.NewFlagSet("backend", flag.ContinueOnError)
	isolation := flags.String("isolation", "auto", "auto, namespaces or landlock")
	file := flags.String("receipt", "receipt.jsonl", "where the receipt is written; it must not exist")
	if err := flags.Parse(args); err != nil {
		return refused, err
	}
	if flags.NArg() < 2 {
		return refused, errors.New("usage: backend [-isolation auto] [-receipt FILE] PROJECT AGENT [ARG...]")
	}
	// The names that the sandbox, the gate and the agent have of it must be the same one.
	project, err := filepath.Abs(flags.Arg(0))
	if err == nil {
		project, err = filepath.EvalSymlinks(project)
	}
	if err != nil {
		return refused, err
	}
	record, err := newReceipt(*file)
	if err != nil {
		return refused, err
	}
	defer func() {
		if err = errors.Join(err, record.close()); err != nil {
			status = refused // whatever the agent says
		}
	}()

	result, err := sandboxed(sandbox{
		isolation: *isolation, project: project, command: flags.Args()[1:],
		// Called when the sockets are there, and before the agent is.
		serve: func(b launcher.BridgeSession) (stop func(), err error) { return serve(b, project, record) },
	})
	if err != nil {
		return refused, err
	}
	if len(result.Survivors) > 0 {
		return refused, fmt.Errorf("processes of the agent could not be ended: %v", result.Survivors)
	}
	return result.Status, nil
}
