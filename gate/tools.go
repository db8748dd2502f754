package gate

import (
	"encoding/json"
	"errors"

	"brainbox/gate/permit"
	"brainbox/gate/rule"
	"brainbox/gate/shell"
)

// known is a tool whose arguments are understood here: the one that is its value, and
// what is done to it if that is a path.
type known struct {
	surface, arg string
	access       shell.Access
	path         bool
}

func knownTool(name string) (known, bool) {
	switch name {
	case "bash":
		return known{surface: rule.Bash, arg: "command"}, true
	case "read", "read_file":
		return known{"read", "path", shell.ReadOnly, true}, true
	case "grep", "find", "ls":
		return known{name, "path", shell.ReadOnly, true}, true
	case "write", "write_file":
		return known{"write", "path", shell.WriteOnly, true}, true
	case "edit", "edit_file":
		return known{"edit", "path", shell.Both, true}, true
	case "skill":
		return known{surface: "skill", arg: "name"}, true
	}
	return known{}, false
}

// ReadTool tells the surface and the meaning of a call of one of the usual tools: bash,
// read, read_file, grep, find, ls, write, write_file, edit, edit_file and skill. Of any
// other the surface is its name, and its value is empty; ok is then false. An argument
// that is missing, or no text, is an error: what it means is not known.
func ReadTool(name string, args json.RawMessage) (surface string, r Reading, ok bool, err error) {
	k, ok := knownTool(name)
	if !ok {
		return name, Reading{}, false, nil
	}
	in, err := permit.ParseInput(args)
	if err != nil {
		return k.surface, Reading{}, true, err
	}
	text, has := in.String(k.arg)
	if !has {
		return k.surface, Reading{}, true, errors.New("gate: " + name + " needs " + k.arg)
	}
	return k.surface, k.read(text), true, nil
}

// read is the meaning of the argument's text.
func (k known) read(text string) Reading {
	r := Reading{Value: text}
	if k.path {
		r.Targets = []Target{{Path: text, Access: k.access}}
	}
	return r
}

// ReadText is [ReadTool] for the value itself: the command, the path, or whatever a rule
// about the tool would be about.
func ReadText(name, value string) (surface string, r Reading) {
	k, ok := knownTool(name)
	if !ok {
		return name, Reading{Value: value}
	}
	return k.surface, k.read(value)
}
