package launcher

import (
	"brainbox/envfilter"
	"brainbox/policy"
)

// ExplainEnv says whether a variable reaches the program, and why.
func ExplainEnv(p *policy.Policy, f *Facts, name string) (allowed bool, reason string) {
	d := &planner{pol: p, facts: f, plan: &Plan{}}
	in, err := d.envInput()
	if err != nil {
		return false, err.Error()
	}
	return envfilter.Explain(in, name)
}
