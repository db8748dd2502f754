package envfilter

import (
	"io/fs"
	"slices"
	"strings"
)

// localePattern is the only pattern that an allow list may hold.
const localePattern = "LC_*"

// allow takes names from the caller.
func (d *decision) allow(names []string, ours []choice) {
	for _, name := range names {
		if name == localePattern {
			for _, e := range d.caller {
				if isLocale(e.name) {
					d.take(e, "allow")
				}
			}
			continue
		}
		d.allowName(name, "allow", ours)
	}
}

func isLocale(name string) bool { return strings.HasPrefix(name, "LC_") && ValidName(name) }

// allowName takes one name from the caller, if it may be taken.
func (d *decision) allowName(name, source string, ours []choice) {
	reason, hint, err := takeable(name)
	switch {
	case err != nil && !sets(ours, name):
		d.refuse(name, source, reason, hint, err)
	case sets(ours, name):
		d.note(name, "not taken from you: brainbox sets its own value")
	default:
		if i := find(d.caller, name); i >= 0 {
			d.take(d.caller[i], source)
		}
	}
}

func (d *decision) take(e entry, source string) {
	why := "taken from the caller, as " + source + " says"
	d.choices = append(d.choices, choice{e.name, e.value, why, source, fromCaller})
}

func sets(list []choice, name string) bool {
	return slices.ContainsFunc(list, func(c choice) bool { return c.name == name })
}

// takeable says why name cannot be taken from the caller; err is nil if it can.
func takeable(name string) (reason, hint string, err error) {
	if strings.Contains(name, "*") {
		return "the only pattern is LC_*", "write the names one by one", fs.ErrInvalid
	}
	if !nameable(name) {
		return "not a variable name", "", fs.ErrInvalid
	}
	if reason, hint = barred(name); reason != "" {
		return reason, hint, fs.ErrPermission
	}
	return "", "", nil
}

// barred says why a name is never taken from the caller; reason is empty for a
// name that may be.
func barred(name string) (reason, hint string) {
	switch classOf(name) {
	case control:
		return "it controls brainbox or its host and is never handed on", ""
	case loader, tool:
		if slices.Contains(caVars(), name) {
			return "a file of certificates is not taken from the caller", "ca_bundle grants the file and sets the variables"
		}
		return "it can make programs run other code, so it is not taken from the caller",
			"write the value: NAME=VALUE"
	case proxy:
		return "a proxy is not taken from the caller", "the network mode proxy sets it, or write the value: NAME=VALUE"
	case socket:
		return "the sockets in this folder are not the run's", "grant a socket by its path, with --unix"
	case plain:
	}
	return "", ""
}

// operatorVar applies what an operator wrote.
func (d *decision) operatorVar(v Var, source string, ours []choice) {
	switch {
	case v.FromCaller:
		d.allowName(v.Name, source, ours)
		return
	case !nameable(v.Name):
		d.refuse(v.Name, source, "not a variable name", "", fs.ErrInvalid)
		return
	case classOf(v.Name) == control:
		reason, hint := barred(v.Name)
		d.refuse(v.Name, source, reason, hint, fs.ErrPermission)
		return
	case v.Name == "PATH":
		d.note(v.Name, "rebuilt from what you wrote: elements that may be written or not executed are left out")
		return
	}
	switch c := classOf(v.Name); {
	case sets(ours, v.Name):
		d.note(v.Name, "as you set it, instead of brainbox's own value")
	case c == loader || c == tool:
		d.note(v.Name, "as you set it; it can make programs inside run other code")
	case c == proxy:
		d.note(v.Name, "as you set it; it opens no network by itself")
	case c == socket:
		d.note(v.Name, "as you set it; it grants no socket by itself")
	}
	d.choices = append(d.choices, choice{v.Name, v.Value, "set by you (" + source + ")", source, operator})
}
