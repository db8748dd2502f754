package conform

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"

	"brainbox/bridge/spec"
	"brainbox/gate"
	"brainbox/gate/permit"
	"brainbox/gate/prompt"
	"brainbox/gate/rule"
)

// call is one scene: a call, who answers, and what must come of it.
type call struct {
	id          string
	tool, input string
	what        string // what is tried; empty: the tool itself

	rules   string // as JSON; empty: everything is allowed
	posture permit.Posture
	answers []prompt.Answer

	refused bool // the result is no success, and nothing has an effect
	without bool // the host does not have the tool: likewise

	changes map[string]string // files that are written
	gone    []string          // files that are not there any more
	runs    []string          // commands
	says    string            // a part of the output
	host    int               // how often the host is asked
	asked   int               // how often a person is asked by the gate
}

const (
	idTool  = "BP6"
	painted = "\x89PNG\r\n\x1a\npainted"
)

// start is what every scene begins with.
var start = map[string]string{
	"notes/a.md":      "one\n",
	"notes/b.md":      "two\n",
	"assets/raft.png": "\x89PNG\r\n\x1a\nimage",
	".git/hooks/":     "",
	".git/HEAD":       "ref: refs/heads/main\n",
}

// after is what the scene ends with, if all goes well.
func (c *call) after() map[string]string {
	all := maps.Clone(start)
	maps.Copy(all, c.changes)
	for _, name := range c.gone {
		delete(all, name)
	}
	return all
}

// policy is that of the scene. The list of tools and the patterns of single uses are those
// that hold by default.
func (c *call) policy(dir string) (gate.Policy, error) {
	text := c.rules
	if text == "" {
		text = allowAll
	}
	rules, err := rule.ParseJSON([]byte(text))
	names := spec.AllowedNames(false)
	return gate.Policy{
		Rules: rule.Config{
			Scopes: []rule.Scope{{Kind: rule.Global, Trusted: true, Name: "conform", Rules: rules}},
			Roots:  []string{dir}, Tools: append(spec.Names(), names...),
		},
		Tools: append(spec.Names(), names...),
	}, err
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// asking are the bridge tools, in the order of the posture.
func asking() []call {
	return []call{
		{
			id: idTool, tool: spec.AskUser, host: 1, says: `"answers":{"Which?":"B"}`,
			input: `{"questions":[{"question":"Which?","header":"which","multiSelect":false,"options":[{"label":"A","description":""},{"label":"B","description":""}]}]}`,
		},
		{
			id: idTool, tool: spec.AskUserList, host: 1, says: `"answers":{"i1":"good"}`,
			input: `{"prompt":"How?","scale":[{"label":"bad"},{"label":"good"}],"items":[{"id":"i1","label":"I"},{"id":"i2","label":"II"}]}`,
		},
		{
			id: idTool, tool: spec.AskUserRank, host: 1, says: `"order":["i2","i1"]`,
			input: `{"prompt":"How?","items":[{"id":"i1","label":"I"},{"id":"i2","label":"II"}]}`,
		},
		{
			id: idTool, tool: spec.AskUserForm, host: 1, says: `"answers":{"n1":"a text"}`,
			input: `{"prompt":"What?","nodes":[{"kind":"text","id":"n1","prompt":"What?"}]}`,
		},
		{id: idTool, tool: spec.GetCurrentLocation, host: 1, says: `"latitude":47.5`, input: `{}`},
		{
			id: idTool, tool: spec.RequestImageMask, host: 1, says: `assets/raft-mask.png`, input: `{"imagePath":"assets/raft.png"}`,
			changes: map[string]string{"assets/raft-mask.png": painted},
		},
		{id: idTool, tool: spec.QueryActivity, host: 1, says: `the only run`, input: `{"scope":"recent"}`},
		{id: idTool, tool: spec.ShowBlock, says: `"kind":"stats"`, input: `{"kind":"stats","items":[{"label":"runs","value":"1"}]}`},
	}
}

// mediated are the tools that read, write and run.
func mediated() []call {
	one := sum(start["notes/a.md"])
	return []call{
		{id: idTool, tool: "read_file", input: `{"path":"notes/a.md"}`, says: one},
		{id: idTool, tool: "grep", input: `{"pattern":"^tw"}`, says: "notes/b.md"},
		{
			id: idTool, tool: "write_file", input: `{"path":"new/c.md","content":"three\n","base":null}`, says: sum("three\n"),
			changes: map[string]string{"new/c.md": "three\n"},
		},
		{
			id: idTool, tool: "edit_file", input: `{"path":"notes/a.md","old_string":"one","new_string":"$& 1","base":"` + one + `"}`, says: sum("$& 1\n"),
			changes: map[string]string{"notes/a.md": "$& 1\n"},
		},
		{
			id: idTool, tool: "apply_staged", says: `"complete":true`,
			input:   `{"files":[{"path":"notes/a.md","content":"1\n","base":"` + one + `"},{"path":"c.md","content":"3\n","base":null}]}`,
			changes: map[string]string{"notes/a.md": "1\n", "c.md": "3\n"},
		},
		{id: idTool, tool: "mkdir", input: `{"path":"notes/d"}`, changes: map[string]string{"notes/d/": ""}},
		{
			id: idTool, tool: "rename", input: `{"from":"notes/a.md","to":"notes/z.md"}`,
			changes: map[string]string{"notes/z.md": "one\n"}, gone: []string{"notes/a.md"},
		},
		{id: idTool, tool: "remove", input: `{"path":"notes/b.md"}`, gone: []string{"notes/b.md"}},
		{id: idTool, tool: "bash", input: `{"command":"ls notes"}`, runs: []string{"ls notes"}, says: "it ran"},
		{id: idTool, tool: "turn_temp", input: `{"operation":"usage"}`, says: "5"},
	}
}
