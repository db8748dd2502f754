package files

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/text/unicode/norm"

	"brainbox/bridge/tool"
	"brainbox/dirchain"
)

// rules are the places of a root that calls may not reach, folded.
type rules struct{ deny, allow, hide []string }

func newRules(deny, allow, hide []string) (rules, error) {
	for _, p := range slices.Concat(deny, allow, hide) {
		if _, err := dirchain.SplitPath(p); err != nil {
			return rules{}, fmt.Errorf("%q: %w", p, err)
		}
	}
	return rules{folded(deny), folded(allow), folded(hide)}, nil
}

func folded(list []string) []string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = fold(p)
	}
	return out
}

// fold gives the spelling in which denied names are compared, as for masks: what a file
// system may take for the same name.
func fold(s string) string { return strings.ToLower(norm.NFKC.String(s)) }

// hides says whether nothing may be read of a path.
func (s rules) hides(rel string) bool {
	return len(s.hide) > 0 && within(fold(rel), s.hide)
}

// denies says whether a path may not be changed; entire: with all that is in it.
func (s rules) denies(rel string, entire bool) bool {
	if len(s.deny)+len(s.hide) == 0 {
		return false
	}
	rel = fold(rel)
	above := func(d string) bool { return beneath(d, rel) }
	switch {
	case within(rel, s.hide), within(rel, s.deny) && !within(rel, s.allow):
		return true
	case entire:
		return slices.ContainsFunc(s.hide, above) || slices.ContainsFunc(s.deny, above)
	}
	return false
}

func within(rel string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return beneath(rel, d) })
}

// meets: the way to a held place, or the place, is hidden under another name.
func (r *root) meets(t *dirchain.Target) bool {
	if len(r.hidden) == 0 {
		return false
	}
	ids := t.Chain()
	if st, found := t.Stat(); found {
		ids = append(ids, st.ID)
	}
	return slices.ContainsFunc(r.hidden, func(h *dirchain.Target) bool {
		st, found := h.Stat()
		return found && slices.Contains(ids, st.ID)
	})
}

func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// changeable refuses what may not be changed, by its name.
func (r *root) changeable(rel, submitted string, entire bool) error {
	switch {
	case r.ReadOnly:
		return refuse("policy_denied", submitted, "its root is only read")
	case r.rules.denies(rel, entire):
		return refuse("policy_denied", submitted, "it may not be changed")
	}
	return nil
}

// refuse makes a refusal about a path as it was submitted.
func refuse(code, submitted, why string) *tool.Refusal {
	r := &tool.Refusal{Code: code, Message: quoted(submitted) + ": " + why}
	if code == "policy_denied" {
		r.Status = "denied"
	}
	return r
}
