package conform

import (
	"encoding/json"

	"brainbox/gate/permit"
)

// expected is a scenario, what the host answers, and what must come of it.
type expected struct {
	id       string
	scenario Scenario
	answer   permit.Answer
	shortcut bool // the runtime would let the tool run by itself

	receipt  string // what the tool was given, or absent
	rejected bool   // before anything was acquired
	denial   string // the error result, where it is known
	asked    int
	outside  bool
	events   int
}

var (
	enforced = permit.Posture{EnforceAllowedTools: true}
	noGrant  = permit.Posture{EnforceAllowedTools: true, NoGrantSurface: true}
	rules    = permit.Rules{Allowed: []string{"bash", "update"}, Shell: "bash", Update: "update"}
)

const (
	noteInput = `{"path":"a.md","text":"x"}`
	rmInput   = `{"command":"rm -rf notes"}`
	rmEdited  = `{"command":"rm -rf notes","timeout":5}`
	rmOther   = `{"command":"rm -rf notes/old"}`
	lsInput   = `{"command":"ls notes"}`
	archive   = `{"path":"a.md","status":"archived"}`
	archiveB  = `{"path":"b.md","status":"archived"}`
	hidden    = `{"command":"ls notes","env":{"__proto__":{"shell":true}}}`
)

// scenario is one call under a posture.
func scenario(p permit.Posture, tool, input string) Scenario {
	in, err := permit.ParseInput([]byte(input))
	if err != nil {
		panic("conform: internal error: " + err.Error())
	}
	return Scenario{Posture: p, Rules: rules, Call: permit.Call{ID: "c1", Tool: tool, Input: in}}
}

// edit allows with other arguments.
func edit(text string) permit.Answer {
	return permit.Answer{Behavior: "allow", Edit: json.RawMessage(text)}
}

// scenarios are those of the contract. T7 and T8 are about backends that must not pass.
func scenarios() []expected {
	allow, deny := permit.Answer{Behavior: "allow"}, permit.Answer{Behavior: "deny", Message: "not now"}
	ordinary := permit.Posture{}
	granted := scenario(ordinary, "bash", rmInput) // by the shortcut alone
	granted.Rules.Allowed = nil
	return []expected{
		{id: "T1", scenario: scenario(ordinary, "note", noteInput), answer: deny, receipt: absent, denial: "not now", asked: 1},
		{id: "T1", scenario: scenario(ordinary, "bash", rmInput), answer: deny, receipt: absent, denial: "not now", asked: 1},
		{id: "T1", scenario: scenario(ordinary, "note", noteInput), answer: permit.Answer{Behavior: "perhaps"}, receipt: absent, asked: 1},
		{id: "T2", scenario: scenario(ordinary, "note", noteInput), answer: allow, receipt: noteInput, asked: 1},
		{id: "T2", scenario: scenario(ordinary, "bash", rmInput), answer: allow, receipt: rmInput, asked: 1},
		{id: "T2", scenario: scenario(ordinary, "bash", lsInput), answer: deny, receipt: lsInput},
		{id: "T3", scenario: scenario(enforced, "note", noteInput), answer: deny, receipt: absent, denial: "not now", asked: 1, outside: true},
		{id: "T3", scenario: scenario(enforced, "note", noteInput), answer: allow, receipt: noteInput, asked: 1, outside: true},
		{id: "T4", scenario: scenario(enforced, "note", noteInput), answer: deny, shortcut: true, receipt: absent, asked: 1, outside: true},
		{id: "T4", scenario: scenario(noGrant, "note", noteInput), answer: allow, shortcut: true, receipt: absent, events: 1},
		{id: "T4", scenario: scenario(ordinary, "bash", rmInput), answer: deny, shortcut: true, receipt: absent, asked: 1},
		{id: "T4", scenario: granted, answer: deny, shortcut: true, receipt: absent, asked: 1},
		{id: "T5", scenario: scenario(noGrant, "note", noteInput), answer: allow, receipt: absent, events: 1},
		{id: "T5", scenario: scenario(noGrant, "bash", rmInput), answer: allow, receipt: absent, events: 1},
		{id: "T5", scenario: scenario(noGrant, "update", archive), answer: allow, receipt: absent, events: 1},
		{id: "T5", scenario: scenario(noGrant, "bash", lsInput), answer: allow, receipt: lsInput},
		{id: "T6", scenario: scenario(permit.Posture{NoGrantSurface: true}, "bash", lsInput), answer: allow, receipt: absent, rejected: true},
		{id: "T9", scenario: scenario(ordinary, "bash", rmInput), answer: edit(rmEdited), receipt: rmEdited, asked: 1},
		{id: "T9", scenario: scenario(ordinary, "bash", rmInput), answer: edit(lsInput), receipt: lsInput, asked: 1},
		{id: "T10", scenario: scenario(ordinary, "bash", rmInput), answer: edit(rmOther), receipt: absent, asked: 1},
		{id: "T10", scenario: scenario(ordinary, "update", archive), answer: edit(archiveB), receipt: absent, asked: 1},
		{id: "T10", scenario: scenario(ordinary, "bash", rmInput), answer: edit(hidden), receipt: absent, asked: 1},
		{id: "T10", scenario: scenario(ordinary, "bash", rmInput), answer: edit(`["ls"]`), receipt: absent, asked: 1},
		{id: "T10", scenario: scenario(ordinary, "bash", rmInput), answer: edit(`{"command":"ls","command":"rm -rf x"}`), receipt: absent, asked: 1},
	}
}
