package spawn

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// place is what a path of the program's file system is while it is made.
type place uint8

const (
	ownDir place = iota + 1
	ownFile
	ownLink
	foreign // the root of a mount whose inside is somebody else's
)

// places follows the making of a file system, so that nothing is ever made outside of it:
// a directory that were made below a bound tree would appear in the host's, and a name
// that is looked up there may be a symbolic link which somebody else put there. What is
// made has parents that were made here, and what is covered elsewhere is compared with a
// held descriptor.
type places struct {
	at   map[string]place
	full map[string]bool // the own folders that something was made in
	fs   map[string]bool // the own mounts that KindSeal may close
	proc string          // where a proc was mounted here
}

// maxMounts bounds one file system; the kernel has its own bound (sysctl fs.mount-max).
const maxMounts = 1 << 14

func newPlaces(mounts int) *places {
	p := &places{at: make(map[string]place, 1+mounts), full: make(map[string]bool, mounts/4), fs: map[string]bool{}}
	p.at["/"] = ownDir
	return p
}

// checkMounts refuses what must not be carried out. It makes no system call.
func checkMounts(mounts []Mount) error {
	if len(mounts) > maxMounts {
		return fmt.Errorf("spawn: %d mounts", len(mounts))
	}
	p := newPlaces(len(mounts))
	for i := range mounts {
		if err := p.take(&mounts[i]); err != nil {
			return fmt.Errorf("spawn: mount %d, %q: %w", i, mounts[i].Path, err)
		}
	}
	return nil
}

func (p *places) take(m *Mount) error {
	if !clean(m.Path) || m.Path == "/" && m.Kind != KindGrant {
		return errors.New("not a path that can be made")
	}
	for _, text := range append([]string{m.Source, m.FSType}, m.Options...) {
		if strings.ContainsRune(text, 0) {
			return errors.New("a text holds a NUL")
		}
	}
	switch m.Kind {
	case KindDir:
		return p.create(m.Path, ownDir)
	case KindFile:
		return p.create(m.Path, ownFile)
	case KindSymlink:
		return p.create(m.Path, ownLink)
	case KindFS:
		return p.mountFS(m)
	case KindBind:
		return p.bind(m)
	case KindSelf, KindMask:
		if m.Kind == KindMask && m.Held == 0 && p.inProc(m.Path) {
			return nil
		}
		if m.Held <= 0 || !p.inForeign(m.Path) {
			return errors.New("not a held descriptor in a bound tree")
		}
		return nil
	case KindSeal:
		if !p.fs[m.Path] {
			return errors.New("no file system was mounted there")
		}
		return nil
	case KindGrant:
		if at := p.at[m.Path]; at != ownDir && at != ownFile && !p.fs[m.Path] {
			return errors.New("only what is made here can be granted here")
		}
		return nil
	default:
		return errors.New("unknown kind")
	}
}

// clean reports whether name is absolute and has one spelling.
func clean(name string) bool {
	return path.IsAbs(name) && path.Clean(name) == name && !strings.ContainsRune(name, 0)
}

func (p *places) create(name string, what place) error {
	if p.at[path.Dir(name)] != ownDir {
		return errors.New("its folder is not made here")
	}
	if p.at[name] != 0 {
		return errors.New("made twice")
	}
	p.at[name], p.full[path.Dir(name)] = what, true
	return nil
}

func (p *places) mountFS(m *Mount) error {
	if p.at[m.Path] != ownDir || p.full[m.Path] {
		return errors.New("not an empty folder that is made here")
	}
	if m.FSType == "" || slices.Contains(m.Options, "") {
		return errors.New("no type or an empty option")
	}
	p.fs[m.Path] = true
	if m.FSType == "proc" {
		p.proc = m.Path
	}
	if m.FSType != "tmpfs" {
		p.at[m.Path] = foreign
	}
	return nil
}

func (p *places) bind(m *Mount) error {
	switch at := p.at[m.Path]; {
	case m.Held <= 0 || !clean(m.Source):
		return errors.New("no held descriptor or no clean path of a source")
	case at == ownLink:
		return errors.New("bound to a symbolic link")
	case at == ownFile || at == ownDir && !p.full[m.Path]:
	case m.Over <= 0 || !p.inForeign(m.Path):
		return errors.New("neither an empty own place nor a held descriptor in a bound tree")
	}
	p.at[m.Path] = foreign
	delete(p.fs, m.Path)
	return nil
}

// own reports whether the parts of name are all made here, so that looking it up meets
// no symbolic link and no name that somebody else can change.
func (p *places) own(name string) bool { return p.at[name] == ownDir || p.at[name] == ownFile }

// inForeign reports whether name is, or lies in, the root of a foreign mount.
func (p *places) inForeign(name string) bool {
	for p.at[name] == 0 {
		name = path.Dir(name)
	}
	return p.at[name] == foreign
}

// inProc reports whether name lies in the program's own proc, whose names nobody can change.
func (p *places) inProc(name string) bool { return p.proc != "" && path.Dir(name) == p.proc }
