package envfilter

import "slices"

// Audience is who a subprocess works for; a set of them in a [Row].
type Audience uint8

// The audiences of contract brainkit, section 2.1.
const (
	Cron Audience = 1 << iota
	Agent
	BrainCLI

	// PerCall is no audience: a row that names it goes to nobody by itself, and as
	// an extra it passes without a warning, since one spawn's profile chose it.
	PerCall Audience = 1 << 7
	// HostOnly is no audience: a row that names it is known and goes to nobody.
	HostOnly Audience = 0
)

// Mode says how the subprocess is started.
type Mode uint8

const (
	// Wrapped is the zero Mode: through a wrapper or a set-user-ID helper, which
	// would itself obey names that steer loaders and shells. They are held back.
	Wrapped Mode = iota
	// Direct is without a wrapper: such names, if the operator listed them, pass
	// with a warning.
	Direct
)

// Row gives one name to audiences.
type Row struct {
	Name string
	To   Audience
}

// Table says which name goes to whom. A name that is not in it, or only
// with HostOnly or PerCall, goes to nobody. The nil Table gives nothing.
type Table []Row

// Result is what [Filter] decided. No field but Env holds a value.
type Result struct {
	Env      []string  // NAME=VALUE, sorted by name
	Warnings []Warning // sorted by name
	Held     []string  // names that were in the source and are not in Env, sorted
}

// Warning tells the operator about one name.
type Warning struct {
	Name string
	Text string // a sentence without the name and without any value
}

// Filter returns the variables of env that a subprocess working for audience
// gets: those that table gives to it and those that extras name, less the
// never-forward list of contract brainkit, section 2.3. An extra that is no
// valid name is ignored; extras are not trimmed. An audience that is no single
// one gets extras only.
//
// env and extras are not changed and nothing is remembered between calls.
func Filter(env []string, audience Audience, table Table, extras []string, mode Mode) Result {
	source := parse(env)
	asked := make([]bool, len(source))
	extra := make([]bool, len(source))
	for _, row := range table {
		if i := find(source, row.Name); i >= 0 && single(audience) && row.To&audience != 0 {
			asked[i] = true
		}
	}
	for _, name := range extras {
		if i := find(source, name); i >= 0 && ValidName(name) {
			asked[i], extra[i] = true, true
		}
	}
	var res Result
	for i, e := range source {
		pass, warning := verdict(e.name, table, asked[i], extra[i], mode)
		if warning != "" {
			res.Warnings = append(res.Warnings, Warning{e.name, warning})
		}
		if pass {
			res.Env = append(res.Env, e.name+"="+e.value)
		} else {
			res.Held = append(res.Held, e.name)
		}
	}
	return res
}

func single(a Audience) bool { return a == Cron || a == Agent || a == BrainCLI }

// verdict decides about one name that is in the source. It is silent about names
// nobody asked for.
func verdict(name string, table Table, asked, extra bool, mode Mode) (pass bool, warning string) {
	switch c := classOf(name); {
	case !asked:
		return false, ""
	case c == control:
		return false, "held back: it controls the host, not the subprocess"
	case c == loader && mode != Direct:
		return false, "held back: the wrapper or its shell would obey it"
	case c == loader || c == tool:
		return true, "handed on: it can make programs run other code"
	case extra && table.hostOnly(name):
		return true, "handed on as an extra, although the table keeps it on the host"
	}
	return true, ""
}

// hostOnly reports whether the table knows name and gives it to nobody.
func (t Table) hostOnly(name string) bool {
	i := slices.IndexFunc(t, func(r Row) bool { return r.Name == name && r.To != HostOnly })
	j := slices.IndexFunc(t, func(r Row) bool { return r.Name == name })
	return i < 0 && j >= 0
}
