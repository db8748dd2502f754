package dirchain

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxHops is how many links one resolution follows, as in the kernel
// (path_resolution(7)).
const maxHops = 40

// Resolve says where unsafePath leads, as a path relative to the root without
// links, "." for the root itself. It is a check for messages and for choosing a
// target, not a handle: what it says may be outdated when it returns, and every
// operation on the result walks again and follows nothing.
//
// The path is cleaned lexically first, so that "../name-of-the-root/x" is "x".
// Links are followed inside the root only, the ".." in them from where they lead;
// an absolute one must name a place beneath [Root.Path]. What is not there, the
// target of a dangling link included, is appended by name. It fails with [ErrPath]
// for an absolute path, one with U+0000 and one longer than [MaxPath], [ErrOutside],
// [ErrLink] for more than 40 links, [ErrNotDirectory] when a file is used as a
// directory, [ErrMount], [ErrLimit] beyond [MaxDepth], [ErrChanged] when the root is
// gone, and what the kernel refuses. Nothing outside of the root is looked at: a
// link that leaves the root and comes back is followed only along the root's own
// path (contract brainkit §5.12).
func (r *Root) Resolve(unsafePath string) (string, error) {
	way, err := r.follow(unsafePath)
	return way.Path, named("resolve", unsafePath, err)
}

// Way is how a path is resolved.
type Way struct {
	Path string // what [Root.Resolve] says
	// Links are the places that links in the last name's stead lead to, in order:
	// cleaned, relative to the root, or absolute when the link is.
	Links []string
	// Missing is how many of the last components of Path are not there.
	Missing int
}

// Follow is [Root.Resolve], and tells what it passed. Links are told beside an error too.
func (r *Root) Follow(unsafePath string) (Way, error) {
	way, err := r.follow(unsafePath)
	return way, named("resolve", unsafePath, err)
}

func (r *Root) follow(unsafePath string) (Way, error) {
	rest, err := r.lexical(unsafePath)
	if err != nil {
		return Way{}, err
	}
	if err = r.acquire(); err != nil {
		return Way{}, err
	}
	defer r.release()
	if err = r.visible(); err != nil {
		return Way{}, err
	}
	v := resolver{r: r, rest: rest}
	defer v.back(0)
	if err = v.run(); err != nil {
		return Way{Links: v.links}, err
	}
	place, err := v.place()
	return Way{place, v.links, len(v.missing)}, err
}

// lexical cleans a path as text and makes it relative to the root.
func (r *Root) lexical(unsafePath string) (string, error) {
	switch {
	case strings.IndexByte(unsafePath, 0) >= 0:
		return "", badPath("it has U+0000")
	case len(unsafePath) > MaxPath:
		return "", badPath(fmt.Sprintf("it is longer than %d bytes", MaxPath))
	case strings.HasPrefix(unsafePath, "/"):
		return "", badPath("it is not relative")
	}
	rel := filepath.Clean(unsafePath)
	if r.path != "" {
		var err error
		if rel, err = filepath.Rel(r.path, filepath.Join(r.path, unsafePath)); err != nil {
			return "", badPath(err.Error())
		}
	}
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", ErrOutside
	}
	return rel, nil
}

// resolver is one resolution: where it is, and what it has still to walk.
type resolver struct {
	r       *Root
	dirs    []link   // beneath the root, held with O_PATH
	missing []string // names below the last of dirs that are not there
	leaf    string   // what was met that is neither directory nor link; then rest is empty
	above   string   // a directory that contains the root, when it is there; or empty
	rest    string
	hops    int
	links   []string // Way.Links
}

func (v *resolver) run() error {
	for v.rest != "" {
		name, rest, more := strings.Cut(v.rest, "/")
		v.rest = rest
		var err error
		switch {
		case name == "" || name == ".":
		case name == "..":
			err = v.up()
		case v.above != "":
			err = v.enter(name)
		case len(v.missing) > 0:
			v.missing = append(v.missing, name)
		default:
			err = v.step(name, more)
		}
		if err != nil {
			return err
		}
		if len(v.dirs)+len(v.missing) > MaxDepth {
			return because(ErrLimit, fmt.Sprintf("more than %d directories deep", MaxDepth))
		}
	}
	if v.above != "" {
		return ErrOutside
	}
	return nil
}

// up goes to the directory that contains this one. The ones beneath the root are
// held; the ones above it are known by name, since the root's path has no links.
func (v *resolver) up() error {
	switch {
	case v.above != "":
		v.above = filepath.Dir(v.above)
	case len(v.missing) > 0:
		v.missing = v.missing[:len(v.missing)-1]
	case len(v.dirs) > 0:
		v.back(len(v.dirs) - 1)
	case v.r.path == "":
		return ErrOutside
	case v.r.path != "/":
		v.above = filepath.Dir(v.r.path)
	}
	return nil
}

// enter goes down above the root, where only its own path may be gone.
func (v *resolver) enter(name string) error {
	at := filepath.Join(v.above, name)
	switch {
	case at == v.r.path:
		v.above = ""
	case strings.HasPrefix(v.r.path, at+"/"):
		v.above = at
	default:
		return ErrOutside
	}
	return nil
}

// step goes down beneath the root. more says that a slash follows the name.
func (v *resolver) step(name string, more bool) error {
	parent := v.r.fd
	if n := len(v.dirs); n > 0 {
		parent = v.dirs[n-1].fd
	}
	fd, st, err := v.r.openEntry(parent, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.missing = append(v.missing, name)
		return nil
	case err != nil:
		return fmt.Errorf("%q: %w", name, translated(err))
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		v.dirs = append(v.dirs, link{fd: fd, name: name, id: st.ID})
		return nil
	case unix.S_IFLNK:
		defer v.r.close(fd)
		return v.follow(fd, name, more)
	}
	v.r.close(fd)
	if v.leaf = name; more {
		return fmt.Errorf("%q: %w", name, ErrNotDirectory)
	}
	return nil
}

// follow puts the text of a link before what is still to walk.
func (v *resolver) follow(fd int, name string, more bool) error {
	if v.hops++; v.hops > maxHops {
		return because(ErrLink, fmt.Sprintf("more than %d", maxHops))
	}
	text, err := v.r.linkText(fd)
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	if strings.Trim(v.rest, "/") == "" { // the last name, or what a link has put there
		v.links = append(v.links, v.spelled(text))
	}
	if strings.HasPrefix(text, "/") {
		if v.r.path == "" {
			return ErrOutside
		}
		v.back(0)
		if v.r.path != "/" {
			v.above = "/"
		}
	}
	if more {
		text += "/" + v.rest
	}
	v.rest = text
	return nil
}

// spelled is where the text of a link in the current directory leads, as text.
func (v *resolver) spelled(text string) string {
	if strings.HasPrefix(text, "/") {
		return filepath.Clean(text)
	}
	var parts []string
	for _, l := range v.dirs {
		parts = append(parts, l.name)
	}
	return filepath.Join(append(parts, text)...)
}

// back lets go of the directories from the given one on.
func (v *resolver) back(to int) {
	for _, l := range v.dirs[to:] {
		v.r.close(l.fd)
	}
	v.dirs = v.dirs[:to]
}

// place is where the resolution came to.
func (v *resolver) place() (string, error) {
	var parts []string
	for _, l := range v.dirs {
		parts = append(parts, l.name)
	}
	parts = append(parts, v.missing...)
	if v.leaf != "" {
		parts = append(parts, v.leaf)
	}
	rel := strings.Join(parts, "/")
	switch {
	case rel == "":
		return ".", nil
	case len(rel) > MaxPath:
		return "", because(ErrLimit, fmt.Sprintf("longer than %d bytes", MaxPath))
	}
	return rel, nil
}

// linkText reads the text of a link that is held (readlinkat with an empty path,
// Linux 2.6.39).
func (c *calls) linkText(fd int) (string, error) {
	buf := make([]byte, unix.PathMax)
	var n int
	err := c.do("readlinkat", func() (err error) { n, err = unix.Readlinkat(fd, "", buf); return err })
	switch {
	case err != nil:
		return "", err
	case n == len(buf):
		return "", because(ErrLimit, "the text of a link is longer than any path")
	}
	return string(buf[:n]), nil
}
