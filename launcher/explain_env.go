package launcher

import (
	"strings"

	"brainbox/envfilter"
	"brainbox/policy"
)

// ExplainEnv says whether a variable reaches the program, and why.
func ExplainEnv(p *policy.Policy, f *Facts, name string) (allowed bool, reason string) {
	d := &planner{pol: p, facts: f, plan: NewPlan(p, f)}
	in, err := d.envInput()
	if err != nil {
		return false, err.Error()
	}
	allowed, reason = envfilter.Explain(in, name)
	if b := f.Bridge; b != nil && allowed {
		for _, v := range d.plan.Env {
			if strings.HasPrefix(v, name+"=") {
				return true, reason
			}
		}
		return false, "it belongs to the bridge, or holds a secret of its"
	}
	return allowed, reason
}
