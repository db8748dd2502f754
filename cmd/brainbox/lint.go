package main

import (
	"fmt"
	"io"
	"strings"

	"brainbox/internal/strictjson"
	"brainbox/launcher"
)

// printLint writes one finding a line, and behind the first of each rule why it is one and
// what to do.
func printLint(w io.Writer, file string, l *launcher.Lint, diff bool) {
	told := map[string]bool{}
	for _, f := range l.Findings {
		place := file
		if f.Place != "" {
			place += ": " + f.Place
		}
		printf(w, "%s\n", oneLine(fmt.Sprintf("%s: %s: %s: %s", place, f.Severity, f.Rule, f.Message)))
		if !told[f.Rule] {
			told[f.Rule] = true
			printf(w, "  why: %s\n  hint: %s\n", oneLine(f.Why), oneLine(f.Remedy))
		}
	}
	if len(l.Partial) > 0 {
		printf(w, "%s\n", oneLine(file+": not tried with all kinds of arguments: "+strings.Join(l.Partial, " ")))
	}
	printChanges(w, file, "wider", "+", l.Wider, diff)
	printChanges(w, file, "narrower", "-", l.Narrower, diff)
}

// shown is how many calls a line of a difference names without --diff.
const shown = 12

// printChanges writes the difference to the default filter: a line, or a line for each call.
func printChanges(w io.Writer, file, word, sign string, list []launcher.LintChange, all bool) {
	if len(list) == 0 {
		return
	}
	calls := "calls"
	if len(list) == 1 {
		calls = "call"
	}
	line := fmt.Sprintf("%s: %s than the default filter by %d %s", file, word, len(list), calls)
	if all {
		printf(w, "%s\n", oneLine(line+":"))
		for _, c := range list {
			printf(w, "  %s %s\n", sign, oneLine(callText(c)))
		}
		return
	}
	line += ":"
	for _, c := range list[:min(len(list), shown)] {
		line += " " + c.Call
	}
	if len(list) > shown {
		line += " … (--diff shows all)"
	}
	printf(w, "%s\n", oneLine(line))
}

func callText(c launcher.LintChange) string {
	if c.Some {
		return c.Call + "(" + c.Example + ") and the like"
	}
	return c.Call
}

// JSON is the judgement of one file as one line, schema brainbox/validate/v1.
func (v *validated) JSON() []byte {
	out := strictjson.Object(
		strictjson.Pair("schema", strictjson.Text("brainbox/validate/v1")),
		strictjson.Pair("file", strictjson.Text(v.file)),
		strictjson.Pair("valid", strictjson.Bool(v.valid())),
	)
	var errs, warnings []string
	for _, one := range v.errs {
		_, message, _ := explain(one)
		errs = append(errs, message)
	}
	for _, one := range v.warnings {
		warnings = append(warnings, one.Error())
	}
	out.Add("errors", strictjson.Texts(errs))
	out.Add("warnings", strictjson.Texts(warnings))
	profile := strictjson.Null()
	if v.lint != nil {
		profile = lintJSON(v.profile, v.lint)
	}
	out.Add("profile", profile)
	return strictjson.AppendLine(nil, &out)
}

func lintJSON(file string, l *launcher.Lint) strictjson.Value {
	findings := strictjson.Array()
	for _, f := range l.Findings {
		findings.Items = append(findings.Items, strictjson.Object(
			strictjson.Pair("rule", strictjson.Text(f.Rule)),
			strictjson.Pair("severity", strictjson.Text(f.Severity)),
			strictjson.Pair("place", strictjson.Text(f.Place)),
			strictjson.Pair("message", strictjson.Text(f.Message)),
			strictjson.Pair("why", strictjson.Text(f.Why)),
			strictjson.Pair("hint", strictjson.Text(f.Remedy)),
		))
	}
	changes := func(list []launcher.LintChange) strictjson.Value {
		out := strictjson.Array()
		for _, c := range list {
			out.Items = append(out.Items, strictjson.Object(
				strictjson.Pair("call", strictjson.Text(c.Call)),
				strictjson.Pair("some", strictjson.Bool(c.Some)),
				strictjson.Pair("example", strictjson.Text(c.Example)),
			))
		}
		return out
	}
	return strictjson.Object(
		strictjson.Pair("file", strictjson.Text(file)),
		strictjson.Pair("form", strictjson.Text(l.Form)),
		strictjson.Pair("judged", strictjson.Text(l.Judged)),
		strictjson.Pair("findings", findings),
		strictjson.Pair("wider", changes(l.Wider)),
		strictjson.Pair("narrower", changes(l.Narrower)),
		strictjson.Pair("partial", strictjson.Texts(l.Partial)),
	)
}
