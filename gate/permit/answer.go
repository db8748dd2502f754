package permit

import (
	"encoding/json"
	"fmt"

	"brainbox/internal/strictjson"
)

// Answer is what a bridge says. The zero value denies.
type Answer struct {
	Behavior string // exactly "allow" allows
	Message  string // for a denial; empty: a word of ours
	// Edit replaces the arguments. It is encoded once, and nothing of it is kept; a
	// json.RawMessage is taken as it is.
	Edit any
	// Edited says that there is an edit although Edit is nil, which is null in JSON
	// and no object.
	Edited bool
}

// DecodeAnswer reads an answer in JSON: behavior, message, updatedInput. A text that is
// no object, or says a thing twice, is an error; a member of another type is one that
// does not allow.
func DecodeAnswer(text []byte) (Answer, error) {
	root, err := strictjson.Decode(text, strictjson.Limits{Bytes: MaxInput, Proto: true})
	if err != nil {
		return Answer{}, fmt.Errorf("permit: answer: %w", err)
	}
	if root.Kind != strictjson.KindObject {
		return Answer{}, fmt.Errorf("permit: answer: an object expected, got %s", root.Kind)
	}
	var a Answer
	if v := root.Get("behavior"); v != nil && v.Kind == strictjson.KindString {
		a.Behavior = v.Text
	}
	if v := root.Get("message"); v != nil && v.Kind == strictjson.KindString {
		a.Message = v.Text
	}
	if v := root.Get("updatedInput"); v != nil {
		a.Edited, a.Edit = true, json.RawMessage(text[v.Start:v.End])
	}
	return a, nil
}

// Decision is an answer that was read once. The zero value denies.
type Decision struct {
	Allow   bool
	Message string // of a denial
	Edited  bool   // Edit replaces the arguments, once CheckEdit agrees
	Edit    Input  // an object
}

const deniedWord = "denied"

// decide reads the answer for a tool.
func (a Answer) decide(tool string) Decision {
	if a.Behavior != "allow" {
		if a.Message == "" {
			a.Message = deniedWord
		}
		return Decision{Message: a.Message}
	}
	if a.Edit == nil && !a.Edited {
		return Decision{Allow: true}
	}
	edit, err := snapshot(a.Edit, MaxEdit)
	if err != nil {
		return Decision{Message: fmt.Sprintf("The tool %s did not run: its edited arguments cannot be used. %v.", shown(tool), err)}
	}
	if !edit.IsObject() {
		return Decision{Message: fmt.Sprintf("The tool %s did not run: its edited arguments are no JSON object.", shown(tool))}
	}
	return Decision{Allow: true, Edited: true, Edit: edit}
}
