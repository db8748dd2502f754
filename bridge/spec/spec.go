package spec

import (
	"embed"
	"sync"

	"brainbox/internal/strictjson"
)

// Spec is what a caller must know of one tool. The input is a JSON object.
type Spec struct {
	Name        string
	Description string // for the model that calls it
	Brief       string // one line for a prompt
	Input       string // JSON Schema (draft 2020-12) of the input, one line
}

//go:embed schema/*.json
var schemas embed.FS

// All gives the spec of every tool that brainbox answers, in a fixed order: those that a
// person or the host answers, then those that work on files and commands.
func All() []Spec {
	return append([]Spec(nil), table()...)
}

// Find gives the spec of the tool of that very name.
func Find(name string) (Spec, bool) {
	for _, s := range table() {
		if s.Name == name {
			return s, true
		}
	}
	return Spec{}, false
}

// Names gives the names of [All], in its order.
func Names() []string {
	out := make([]string, len(words))
	for i := range words {
		out[i] = words[i].Name
	}
	return out
}

// table is read once, and by nobody who does not ask: small programs link this package.
var table = sync.OnceValue(func() []Spec {
	out := append([]Spec(nil), words[:]...)
	for i := range out {
		out[i].Input = line("schema/" + out[i].Name + ".json")
	}
	return out
})

// line is an embedded schema without its blanks. The files are part of the program, and a
// test reads all of them.
func line(name string) string {
	text, err := schemas.ReadFile(name)
	if err != nil {
		panic("spec: " + err.Error())
	}
	v, err := strictjson.Decode(text, strictjson.Limits{})
	if err != nil {
		panic("spec: " + name + ": " + err.Error())
	}
	return string(strictjson.Append(nil, v))
}
