package conform

import (
	"brainbox/bridge/spec"
	"brainbox/gate/permit"
	"brainbox/gate/prompt"
)

// What is asked about.
const (
	allowAll = `{"*":"allow","bash":"allow","path":"allow"}`
	askAll   = `{"*":"ask","bash":"ask","path":"allow"}`
	askSome  = `{"*":"ask","bash":"ask","path":"allow","write":{"*":"ask","locked/*":"deny"}}`

	writeNew = `{"path":"new.md","content":"as proposed\n","base":null}`
	writeTo  = `{"path":"notes/a.md","content":"as proposed\n","base":"` // and its hash
	list     = `{"command":"ls notes"}`
	wipe     = `{"command":"rm -rf notes"}`
)

var (
	noGrant = permit.Posture{EnforceAllowedTools: true, NoGrantSurface: true}
	deny    = []prompt.Answer{{Reason: "not now"}}
	approve = []prompt.Answer{{Decision: prompt.Approve}}
)

// edit approves with other arguments, and whatever is asked then.
func edit(text string) []prompt.Answer {
	return []prompt.Answer{{Decision: prompt.Approve, Edited: []byte(text)}, {Decision: prompt.Approve}}
}

// dispatched are calls that are denied, allowed, edited, or made where nobody can be asked
// (contract brainkit §3.6). Each denial has the same call beside it that is allowed.
func dispatched() []call {
	all := append(denials(), unaskable()...)
	return append(append(all, edits()...), unreachable()...)
}

func denials() []call {
	replace := writeTo + sum(start["notes/a.md"]) + `"}`
	var all []call
	for _, c := range []call{
		{tool: "write_file", input: writeNew, changes: map[string]string{"new.md": "as proposed\n"}},
		{tool: "write_file", input: replace, changes: map[string]string{"notes/a.md": "as proposed\n"}},
		{tool: "mkdir", input: `{"path":"d"}`, changes: map[string]string{"d/": ""}},
		{tool: "remove", input: `{"path":"notes/b.md"}`, gone: []string{"notes/b.md"}},
		{tool: "bash", input: list, runs: []string{"ls notes"}},
		{tool: "bash", input: wipe, runs: []string{"rm -rf notes"}},
		{tool: spec.RequestImageMask, input: `{"imagePath":"assets/raft.png"}`, host: 1, changes: map[string]string{"assets/raft-mask.png": painted}},
	} {
		c.rules, c.asked = askAll, 1
		denied, allowed := c, c
		denied.id, denied.what, denied.answers, denied.refused = "T1", "denied", deny, true
		allowed.id, allowed.what, allowed.answers = "T2", "allowed", approve
		all = append(all, denied, allowed)
	}
	// A rule that allows everything does not answer for a single use that is confirmed.
	return append(all,
		call{id: "T1", what: "a single use, denied", tool: "bash", input: wipe, answers: deny, refused: true, asked: 1},
		call{id: "T2", what: "a single use, allowed", tool: "bash", input: wipe, answers: approve, asked: 1, runs: []string{"rm -rf notes"}},
	)
}

// unaskable is a turn without a grant surface: there is a person, and nobody asks.
func unaskable() []call {
	all := []call{
		{id: "T5", tool: "write_file", input: writeNew, rules: askAll, refused: true},
		{id: "T5", tool: "bash", input: list, rules: askAll, refused: true},
		{id: "T5", tool: "bash", input: wipe, refused: true},
		{id: "T5", tool: "bash", input: list, runs: []string{"ls notes"}, what: "allowed by a rule"},
		{id: "T5", tool: "write_file", input: writeNew, changes: map[string]string{"new.md": "as proposed\n"}, what: "allowed by a rule"},
	}
	voice := map[string]bool{}
	for _, c := range spec.Posture() {
		voice[c.Name] = !c.Eyes
	}
	for _, c := range asking() { // those that need somebody who looks are withheld
		if c.id, c.what = "T5", "in a turn without a screen"; !voice[c.tool] {
			c.refused = true
		}
		all = append(all, c)
	}
	for i := range all {
		all[i].posture, all[i].answers = noGrant, approve
		if all[i].what == "" {
			all[i].what = "nobody can be asked"
		}
	}
	return all
}

// edits are approvals with other arguments: T9 are safe, T10 are not, or are no calls.
func edits() []call {
	all := []call{
		{
			id: "T9", what: "another content", tool: "write_file", input: writeNew,
			answers: edit(`{"path":"new.md","content":"as approved\n","base":null}`), changes: map[string]string{"new.md": "as approved\n"},
		},
		{id: "T9", what: "a harmless command in place of another", tool: "bash", input: wipe, rules: allowAll, answers: edit(list), runs: []string{"ls notes"}},
		{id: "T10", what: "a command that must be confirmed", tool: "bash", input: list, answers: edit(wipe)},
		{id: "T10", what: "another command that must be confirmed", tool: "bash", input: wipe, answers: edit(`{"command":"rm -rf assets"}`)},
		{id: "T10", what: "a place that is denied", tool: "write_file", input: writeNew, answers: edit(`{"path":"locked/x","content":"","base":null}`)},
		{
			id: "T10", what: "a place that nobody writes", tool: "write_file", input: writeNew,
			answers: edit(`{"path":".git/hooks/pre-commit","content":"#!/bin/sh\n","base":null}`),
		},
		{id: "T10", what: "a place outside", tool: "write_file", input: writeNew, answers: edit(`{"path":"../out.md","content":"","base":null}`)},
		{id: "T10", what: "an unknown key", tool: "write_file", input: writeNew, answers: edit(`{"path":"new.md","content":"","base":null,"mode":511}`)},
		{id: "T10", what: "the key __proto__", tool: "bash", input: list, answers: edit(`{"command":"ls","env":{"__proto__":{}}}`)},
	}
	for i := range all {
		all[i].asked, all[i].refused = 1, all[i].id == "T10"
		if all[i].rules == "" {
			all[i].rules = askSome
		}
	}
	return all
}

// unreachable are places that no rule and no person opens.
func unreachable() []call {
	var all []call
	for _, path := range []string{".git/config", ".git/hooks/pre-commit", ".brain/state", "../out.md", "/out.md", "notes/../../out.md"} {
		all = append(all,
			call{id: "CT11", what: path, tool: "write_file", input: `{"path":"` + path + `","content":"x","base":null}`, answers: approve, refused: true},
			call{id: "CT11", what: path, tool: "rename", input: `{"from":"notes/a.md","to":"` + path + `"}`, answers: approve, refused: true})
	}
	return all
}
