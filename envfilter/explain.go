package envfilter

import "slices"

// Explain says whether the run that in describes gets the variable name, and
// why. It is the decision of [Build], so it names a refusal too; that another
// name is refused does not matter to it. The reason holds no value.
func Explain(in Input, name string) (allowed bool, reason string) {
	if !nameable(name) {
		return false, "not a variable name"
	}
	d := decide(in)
	for _, e := range d.refused {
		if e.Name == name {
			return false, withHint(e.Reason, e.Hint)
		}
	}
	for _, c := range d.final {
		if c.name == name {
			return true, c.why
		}
	}
	switch {
	case slices.Contains(in.Allow, name), isLocale(name) && slices.Contains(in.Allow, localePattern),
		namedOnly(in, name):
		return true, "allowed, but the caller has no such variable"
	}
	if why, hint := barred(name); why != "" {
		return false, withHint(why, hint)
	}
	if find(d.caller, name) < 0 {
		return false, "not on the allow list, and the caller has no such variable"
	}
	return false, withHint("not on the allow list", "--env NAME hands the caller's value on")
}

func withHint(reason, hint string) string {
	if hint == "" {
		return reason
	}
	return reason + " (" + hint + ")"
}

// namedOnly reports whether a flag or file asks for the caller's value of name.
func namedOnly(in Input, name string) bool {
	asks := func(v Var) bool { return v.FromCaller && v.Name == name }
	if slices.ContainsFunc(in.Set, asks) {
		return true
	}
	return slices.ContainsFunc(in.Files, func(f File) bool { return slices.ContainsFunc(f.Vars, asks) })
}
