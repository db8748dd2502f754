package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"brainbox/bridge/client"
	"brainbox/bridge/envelope"
)

func main() {
	if err := work(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func work(ctx context.Context) error {
	// The environment says where the bridge is: BRAINBOX_SOCKET, or BRAINBOX_BRIDGE_FD.
	bridge, err := client.Open(ctx, client.Options{Name: "example agent"})
	if err != nil {
		return err
	}
	defer bridge.Close()
	a := agent{ctx, bridge}

	// A question. The answer permits nothing: it is what the person wants.
	const question = "Which greeting?"
	var said struct{ Answers map[string]string }
	err = a.call(&said, "ask_user", object{"questions": []object{{
		"question": question, "header": "greeting", "multiSelect": false,
		"options": []object{{"label": "Hello", "description": "plain"}, {"label": "Moin", "description": "northern"}},
	}}})
	if err != nil {
		return err
	}

	// A safe edit: read, then replace what was read. The hash says which content is meant;
	// had somebody else changed the file meanwhile, it would be left alone.
	var file struct{ SHA256 string }
	if err := a.call(&file, "read_file", object{"path": "docs/greeting.md"}); err != nil {
		return err
	}
	err = a.call(nil, "edit_file", object{
		"path": "docs/greeting.md", "base": file.SHA256,
		"old_string": "GREETING", "new_string": said.Answers[question],
	})
	if err != nil {
		return err
	}

	// What nobody may write, since git runs it; and what a person must confirm, and does not.
	for _, path := range []string{".git/hooks/pre-commit", "deploy.sh"} {
		if err := a.denied("write_file", object{"path": path, "content": "#!/bin/sh\n", "base": nil}); err != nil {
			return err
		}
	}
	// Nor is there a way around the host.
	if err := os.WriteFile("docs/direct.md", nil, 0o600); err == nil {
		return errors.New("the sandbox let the agent write by itself")
	}
	return nil
}

type object = map[string]any

// agent calls tools.
type agent struct {
	ctx    context.Context
	bridge *client.Client
}

// call calls a tool and reads its output into out, unless that is nil.
func (a agent) call(out any, tool string, input object) error {
	res, err := a.result(tool, input)
	switch {
	case err != nil:
		return err
	case res.Err != nil: // it did not succeed
		return fmt.Errorf("%s: %s: %s: %s", tool, res.Status, res.Err.Code, res.Err.Message)
	case out == nil:
		return nil
	}
	return json.Unmarshal(res.OutputJSON(), out)
}

// denied calls a tool, and wants it to be denied: a result as any other.
func (a agent) denied(tool string, input object) error {
	res, err := a.result(tool, input)
	if err == nil && res.Status != envelope.Denied {
		err = fmt.Errorf("%s %v: %s, want it denied", tool, input["path"], res.Status)
	}
	return err
}

func (a agent) result(tool string, input object) (*envelope.Result, error) {
	text, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	return a.bridge.CallJSON(a.ctx, tool, text)
}
