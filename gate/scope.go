package gate

import (
	"path"
	"slices"
	"strings"

	"brainbox/gate/action"
	"brainbox/gate/rule"
	"brainbox/gate/shell"
)

// Grant is a folder or file that the standing rules open.
type Grant struct {
	Path   string // absolute
	Access shell.Access
}

// Exclusion is what the rules close, or ask about, in what is open.
type Exclusion struct {
	Pattern string // as it was written: of package wild, or a path
	Access  shell.Access
}

// Scope is what the policy says about paths, as data, so that the rules of the kernel and
// the questions come from one policy.
type Scope struct {
	Grants     []Grant
	Exclusions []Exclusion
}

// Scope tells the scope of the policy that holds. Grants are the workspace, and what
// trusted rules of the external family allow, if that is a folder with all that is in it,
// or one path. Every rule that denies or asks is an exclusion, also where a later one
// takes a part of it back: too much is closed, never too little.
func (g *Gate) Scope() Scope { return g.state.Load().scope() }

func (p *Compiled) scope() Scope {
	var s Scope
	for _, r := range p.roots {
		s.Grants = append(s.Grants, Grant{Path: r})
	}
	for i := range p.scopes {
		sc := &p.scopes[i]
		if sc.Err != nil {
			continue
		}
		for k := range sc.Rules {
			s.add(&sc.Rules[k], sc.Trusted || sc.Kind <= rule.Global)
		}
	}
	return s
}

func (s *Scope) add(r *rule.Rule, trusted bool) {
	access, external, ok := family(r.Surface)
	if !ok {
		return
	}
	if r.Action != action.Allow {
		if e := (Exclusion{r.Pattern, access}); !external || r.Pattern != "*" { // outside is closed as it is
			if !slices.Contains(s.Exclusions, e) {
				s.Exclusions = append(s.Exclusions, e)
			}
		}
		return
	}
	dir := strings.TrimSuffix(r.Pattern, "/*")
	if !trusted || !external || !path.IsAbs(dir) || strings.ContainsAny(dir, "*?") || path.Clean(dir) != dir {
		return
	}
	s.Grants = append(s.Grants, Grant{dir, access})
}

func family(surface string) (a shell.Access, external, ok bool) {
	switch surface {
	case "path":
		return shell.Both, false, true
	case rule.PathRead:
		return shell.ReadOnly, false, true
	case rule.PathWrite:
		return shell.WriteOnly, false, true
	case "external_directory":
		return shell.Both, true, true
	case rule.ExternalRead:
		return shell.ReadOnly, true, true
	case rule.ExternalWrite:
		return shell.WriteOnly, true, true
	}
	return 0, false, false
}
