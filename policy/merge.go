package policy

import (
	"path"
	"strconv"
	"strings"
)

// maxExtends is the longest chain of files that extend each other.
const maxExtends = 8

// maxRead bounds the extended files of one merge: eight levels of files that
// each extend many would never end.
const maxRead = 64

// Input is what a merge needs from outside.
type Input struct {
	Vars Vars

	// Read returns the text of an extended file. Without it extending a file
	// is an error.
	Read func(path string) ([]byte, error)

	// Inside reports whether child is parent or lies below it. Without it
	// paths are compared by component, as text; the launcher passes one that
	// has links resolved.
	Inside func(child, parent string) bool
}

func (in Input) inside(child, parent string) bool {
	if in.Inside != nil {
		return in.Inside(child, parent)
	}
	return Below(child, parent)
}

// Below reports whether child is parent or lies below it, comparing clean
// absolute paths by component.
func Below(child, parent string) bool {
	if parent == "/" {
		return strings.HasPrefix(child, "/")
	}
	rest, ok := strings.CutPrefix(child, parent)
	return ok && (rest == "" || rest[0] == '/')
}

// Layers returns the layers to resolve, in order: the base, the policy file, the
// flags. Without a file the base is the profile named, or default; with one it is
// the profile named, or nothing, so that what is in the file is what is granted.
// file and flags may be nil.
func Layers(profile string, file, flags *Layer) ([]*Layer, error) {
	var layers []*Layer
	if profile == "" && file == nil {
		profile = "default"
	}
	if profile != "" {
		base, ok := Builtin(profile)
		if !ok {
			return nil, &Error{
				Source: Source{Kind: KindFlag, Name: "--profile " + profile},
				Msg:    "unknown profile " + strconv.Quote(profile), Hint: oneOf(BuiltinNames()),
			}
		}
		layers = append(layers, base)
	}
	for _, l := range [...]*Layer{file, flags} {
		if l != nil {
			layers = append(layers, l)
		}
	}
	return layers, nil
}

// Resolve merges layers in order, each after what it extends, and expands every
// path. Scalars replace, lists append, remove takes back what came before in the
// same file's reach. The error is an *Error.
func Resolve(in Input, layers ...*Layer) (*Policy, error) {
	m := &merger{in: in, out: &Policy{}}
	for _, l := range layers {
		if err := joins(l, len(layers)); err != nil {
			return nil, err
		}
		if err := m.apply(l, reach{}, nil); err != nil { // nothing extends it
			return nil, err
		}
	}
	m.collapse()
	if err := m.combine(); err != nil {
		return nil, err
	}
	m.compact()
	return m.out, nil
}

// joins refuses a layer that may not be merged with n-1 others.
func joins(l *Layer, n int) error {
	src := Source{Kind: l.Kind, Name: l.Name}
	switch {
	case l.Kind == KindProject:
		return &Error{Source: src, Msg: "a project file grants nothing", Hint: "Narrow applies it"}
	case l.Kind == KindExec && n > 1:
		return &Error{Source: src, Msg: "exec.toml is not merged with any other policy"}
	}
	return nil
}

type merger struct {
	in   Input
	out  *Policy
	rank []int // for each of out.Sources: the position of its layer in the merge
	next int
	read int // files read so far
}

// reach is where a layer's remove tables may begin to take things back: the
// lengths of the lists when its first extended file was merged.
type reach struct {
	grants, connect, bind, publish, hosts, unix, allow, set, files int
}

func (m *merger) mark() reach {
	n, e := &m.out.Network, &m.out.Env
	return reach{
		len(m.out.Grants), len(n.ConnectTCP), len(n.BindTCP), len(n.Publish), len(n.AllowHosts),
		len(n.Unix), len(e.Allow), len(e.Set), len(e.Files),
	}
}

// apply merges l after what it extends. chain names the files on the way here;
// it is empty for a layer that nothing extends.
func (m *merger) apply(l *Layer, from reach, chain []string) error {
	self := append(chain[:len(chain):len(chain)], l.Name)
	for _, ext := range l.Extends {
		next, err := m.load(l, ext, self)
		if err != nil {
			return err
		}
		if err := m.apply(next, m.mark(), self); err != nil {
			return err
		}
	}
	return m.add(l, from, len(chain) > 0)
}

// load returns the layer that an extends entry names.
func (m *merger) load(l *Layer, ext Item[string], chain []string) (*Layer, error) {
	src := l.Policy.Sources[ext.Source]
	fail := func(msg, hint string, err error) (*Layer, error) {
		return nil, &Error{Source: src, Key: "extends", Msg: msg, Hint: hint, Err: err}
	}
	if !isFileName(ext.V) {
		next, ok := Builtin(ext.V)
		if !ok {
			return fail("unknown profile "+strconv.Quote(ext.V), oneOf(BuiltinNames()), nil)
		}
		if l.Kind == KindExec {
			m.forExec(next)
		}
		return next, nil
	}
	name := ext.V
	if !path.IsAbs(name) {
		name = path.Join(path.Dir(l.Name), name)
	}
	way := printable(strings.Join(append(chain[:len(chain):len(chain)], name), " → "))
	for _, c := range chain {
		if path.Clean(c) == path.Clean(name) {
			return fail("extends itself: "+way, "", nil)
		}
	}
	if len(chain) > maxExtends {
		return fail("more than "+strconv.Itoa(maxExtends)+" files extend each other: "+way, "", nil)
	}
	if m.read++; m.read > maxRead {
		return fail("more than "+strconv.Itoa(maxRead)+" extended files", "", nil)
	}
	if m.in.Read == nil {
		return fail("extended files cannot be read here", "", nil)
	}
	text, err := m.in.Read(name)
	if err != nil {
		return fail("cannot read "+strconv.Quote(name)+": "+printable(err.Error()),
			"a built-in profile has neither a / nor .toml in its name", err)
	}
	return Parse(l.Kind, name, text)
}

// add merges one layer whose extended files are merged.
func (m *merger) add(l *Layer, from reach, extended bool) error {
	if l.Kind == KindFile || l.Kind == KindExec {
		m.out.Files = append(m.out.Files, l.Name)
	}
	base := len(m.out.Sources)
	m.out.Sources = append(m.out.Sources, l.Policy.Sources...)
	for range l.Policy.Sources {
		m.rank = append(m.rank, m.next)
	}
	m.next++
	for _, r := range l.removes {
		if err := m.takeBack(l, r, from); err != nil {
			return err
		}
	}
	if err := m.lists(l, base); err != nil {
		return err
	}
	return m.scalars(l, base, extended)
}

// note records what was set aside on the way.
func (m *merger) note(text string) { m.out.Notes = append(m.out.Notes, text) }

// at returns "name:line:col" of a source, for notes.
func (s Source) at() string {
	return strings.TrimSuffix((&Error{Source: s}).Error(), ": ")
}
