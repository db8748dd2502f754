package launcher

import (
	"brainbox/internal/strictjson"
	"brainbox/internal/version"
)

// Schema names the shape of [Plan.JSON].
const Schema = "brainbox/plan/v1"

// JSON is the plan as check --json prints it (docs/interfaces.md).
func (p *Plan) JSON() strictjson.Value {
	sources := make([]strictjson.Value, 0, len(p.Sources))
	for _, s := range p.Sources {
		sources = append(sources, strictjson.Object(
			strictjson.Pair("kind", strictjson.Text(s.Kind.String())),
			strictjson.Pair("name", strictjson.Text(s.Name)),
			strictjson.Pair("line", strictjson.Int(int64(s.Line))),
		))
	}
	return strictjson.Object(
		strictjson.Pair("schema", strictjson.Text(Schema)),
		strictjson.Pair("version", strictjson.Text(version.String())),
		strictjson.Pair("isolation", strictjson.Text(p.Isolation)),
		strictjson.Pair("asked", strictjson.Text(p.Asked)),
		strictjson.Pair("fallback", p.FallbackJSON()),
		strictjson.Pair("start", strictjson.Bool(p.Refusal == nil)),
		strictjson.Pair("refusal", p.refusalJSON()),
		strictjson.Pair("sources", strictjson.Array(sources...)),
		strictjson.Pair("notes", strictjson.Texts(p.Notes)),
		strictjson.Pair("clauses", p.ClausesJSON(true)),
		strictjson.Pair("command", p.commandJSON()),
		strictjson.Pair("environment", strictjson.Texts(p.EnvNames())),
		strictjson.Pair("cwd", strictjson.Text(p.Cwd)),
	)
}

// FallbackJSON is the attempt at namespaces that came to nothing, or null.
func (p *Plan) FallbackJSON() strictjson.Value {
	if p.Fallback == nil {
		return strictjson.Null()
	}
	return strictjson.Object(
		strictjson.Pair("step", strictjson.Text(p.Fallback.Step.String())),
		strictjson.Pair("errno", strictjson.Text(errnoName(p.Fallback.Errno))),
		strictjson.Pair("layer", strictjson.Text(p.Fallback.Layer)),
		strictjson.Pair("route", strictjson.Text(p.Fallback.Route)),
	)
}

func (p *Plan) refusalJSON() strictjson.Value {
	if p.Refusal == nil {
		return strictjson.Null()
	}
	return strictjson.Object(
		strictjson.Pair("status", strictjson.Int(int64(p.Refusal.Status))),
		strictjson.Pair("clause", strictjson.Text(p.Refusal.Clause)),
		strictjson.Pair("message", strictjson.Text(p.Refusal.Message)),
		strictjson.Pair("hint", strictjson.Text(p.Refusal.Hint)),
	)
}

func (p *Plan) commandJSON() strictjson.Value {
	if len(p.Command) == 0 {
		return strictjson.Null()
	}
	return strictjson.Object(
		strictjson.Pair("asked", strictjson.Text(p.Command[0])),
		strictjson.Pair("file", strictjson.Text(p.File)),
		strictjson.Pair("argv", strictjson.Texts(p.Command)),
	)
}

// ClausesJSON is the list of clauses, with or without their entries.
func (p *Plan) ClausesJSON(entries bool) strictjson.Value {
	list := make([]strictjson.Value, 0, len(p.Clauses))
	for i := range p.Clauses {
		c := &p.Clauses[i]
		v := strictjson.Object(
			strictjson.Pair("clause", strictjson.Text(c.Name)),
			strictjson.Pair("state", strictjson.Text(c.State.String())),
			strictjson.Pair("mechanism", strictjson.Text(c.Mechanism)),
			strictjson.Pair("degraded", strictjson.Bool(c.Degraded)),
			strictjson.Pair("requirement", strictjson.Text(c.Requirement)),
			strictjson.Pair("route", strictjson.Text(c.Route)),
		)
		if entries {
			v.Add("entries", entriesJSON(c.Entries))
		}
		list = append(list, v)
	}
	return strictjson.Array(list...)
}

func entriesJSON(entries []Entry) strictjson.Value {
	list := make([]strictjson.Value, 0, len(entries))
	for _, e := range entries {
		v := strictjson.Object(strictjson.Pair("value", strictjson.Text(e.Value)))
		if e.Path != "" {
			v.Add("path", strictjson.Text(e.Path))
			v.Add("target", strictjson.Text(e.Target))
			v.Add("right", strictjson.Text(e.Right))
		}
		v.Add("state", strictjson.Text(e.State.String()))
		v.Add("note", strictjson.Text(e.Note))
		v.Add("optional", strictjson.Bool(e.Optional))
		v.Add("source", strictjson.Int(int64(e.Source)))
		list = append(list, v)
	}
	return strictjson.Array(list...)
}

// EnvNames lists the names of the program's variables, never their values.
func (p *Plan) EnvNames() []string {
	names := make([]string, 0, len(p.Env))
	for _, kv := range p.Env {
		for i := range len(kv) {
			if kv[i] == '=' {
				names = append(names, kv[:i])
				break
			}
		}
	}
	return names
}

// DegradedClauses lists the clauses that the operator accepts as open and that are.
func (p *Plan) DegradedClauses() []string {
	var names []string
	for _, c := range p.Clauses {
		if c.Degraded {
			names = append(names, c.Name)
		}
	}
	return names
}
