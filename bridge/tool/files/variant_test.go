package files

import (
	"strings"
	"testing"

	"brainbox/dirchain/mask"
)

// variants are names that some file system takes for a protected one: another case, and
// characters that NFKC makes the same.
var variants = []string{
	".GIT", ".Git", "．git", ".ｇｉｔ", ".ＧＩＴ", ".gᵢt", ".BRAIN", ".bʳain", ".ⓑrain",
	"Context/Policies", "CONTEXT/policies", "context/POLICIES", "ｃｏｎｔｅｘｔ/policies", "context/policieſ", "context/ⓟolicies",
}

// bk/M9: nothing is written to another spelling of what is protected, by any tool, and no
// tree of that name comes to be. The rules allow all of it.
func TestVariantsOfProtectedNames(t *testing.T) {
	s := newShop(t, setup{})
	s.put("src/f", "one")
	writes := func(path string) map[string]map[string]any {
		return map[string]map[string]any{
			"write_file":   in("path", path, "content", "x", "base", nil),
			"fs.write":     in("root", "work", "path", path, "mode", "create", "data", "x"),
			"edit_file":    in("path", path, "old_string", "a", "new_string", "b", "base", strings.Repeat("0", 64)),
			"apply_staged": in("files", []any{in("path", "src/good", "content", "x", "base", nil), in("path", path, "content", "x", "base", nil)}),
			"mkdir":        in("path", path, "parents", true),
			"rename":       in("from", "src/f", "to", path),
			"remove":       in("path", path),
		}
	}
	for _, name := range variants {
		t.Run("bk/M9 "+name, func(t *testing.T) {
			s.t = t
			for tool, input := range writes(name + "/x") {
				if a := s.refused(tool, input, "policy_denied"); a.status != "denied" {
					t.Errorf("%s: %+v", tool, a)
				}
			}
			s.refused("rename", in("from", name, "to", "src/taken"), "policy_denied")
			s.refused("mkdir", in("path", name), "policy_denied")
		})
	}
	s.t = t
	// The control: names that are like them and are others.
	for _, name := range []string{".gitt", "git", "context/policy", "contexts/policies", "src" + mask.PolicyDir} {
		for _, tool := range []string{"write_file", "fs.write", "apply_staged", "mkdir"} {
			s.call(tool, writes(name + "/" + tool[:2])[tool]).want(t, "")
			s.put("src/good", "") // what a batch made has to be made anew
			s.call("remove", in("path", "src/good")).want(t, "")
		}
	}
}
