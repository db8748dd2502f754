package policy

import (
	"strings"
	"testing"
)

// resolveVector merges CASE/profile, CASE/policy.toml (or CASE/exec.toml) and
// CASE/flags.
func resolveVector(t *testing.T, v vector) (*Policy, error) {
	t.Helper()
	var file, flags *Layer
	var err error
	if text, ok := v.files["policy.toml"]; ok {
		if file, err = Parse(KindFile, "policy.toml", []byte(text)); err != nil {
			return nil, err
		}
	}
	if text, ok := v.files["exec.toml"]; ok {
		if file, err = Parse(KindExec, "exec.toml", []byte(text)); err != nil {
			return nil, err
		}
	}
	if text, ok := v.files["flags"]; ok {
		if flags, err = flagLayer(t, text); err != nil {
			return nil, err
		}
	}
	layers, err := Layers(strings.TrimSpace(v.files["profile"]), file, flags)
	if err != nil {
		return nil, err
	}
	p, err := Resolve(v.input(), layers...)
	if err != nil {
		return nil, err
	}
	if text, ok := v.files[".brainbox.toml"]; ok {
		project, err := Parse(KindProject, ".brainbox.toml", []byte(text))
		if err != nil {
			return nil, err
		}
		return Narrow(p, project, v.input())
	}
	return p, nil
}

func runPolicyVectors(t *testing.T, name string) {
	runVectors(t, name, func(t *testing.T, v vector) string {
		p, err := resolveVector(t, v)
		if err != nil {
			return show(err)
		}
		return dump(p)
	})
}

func TestMerge(t *testing.T)   { runPolicyVectors(t, "merge.txtar") }
func TestNarrow(t *testing.T)  { runPolicyVectors(t, "narrow.txtar") }
func TestDegrade(t *testing.T) { runPolicyVectors(t, "degrade.txtar") }
func TestErrors(t *testing.T)  { runPolicyVectors(t, "errors.txtar") }
