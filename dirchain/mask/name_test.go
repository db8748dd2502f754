package mask

import "testing"

// TestMaskPath: every form that was measured, and those the contract decides.
func TestMaskPath(t *testing.T) {
	const none = "refused"
	tests := []struct{ path, claude, pi string }{
		// [D] the pathological forms: the original ate the whole path or failed
		{"x.*", "x-mask.png", none},
		{"a/x.*", "a/x-mask.png", none},
		{"x.+", "x-mask.png", none},
		{"x.p(", "x-mask.png", none},
		{"x.p)", "x-mask.png", none},
		{"x.)(", "x-mask.png", none},
		{"x.[", "x-mask.png", none},
		{"x.[(", "x-mask.png", none},

		{"assets/raft.png", "assets/raft-mask.png", "assets/raft.mask.png"},
		{"a/b.tar.gz", "a/b.tar-mask.png", "a/b.tar.mask.png"},
		{"noext", "noext-mask.png", "noext.mask.png"},
		{"dir.v2/noext", "dir.v2/noext-mask.png", "dir.v2/noext.mask.png"},
		{".hidden", ".hidden-mask.png", ".hidden.mask.png"},
		{"a/.hidden", "a/.hidden-mask.png", "a/.hidden.mask.png"},
		{"x.", "x-mask.png", "x.mask.png"},
		{"x.PNG", "x-mask.png", "x.mask.png"},
		{"a..png", "a.-mask.png", "a..mask.png"},
		{"x.png+", "x-mask.png", "x.png+.mask.png"},
		{"x.p[g]", "x-mask.png", "x.p[g].mask.png"},
		{"raft-mask.png", "raft-mask-mask.png", "raft-mask.mask.png"},
		{"", "-mask.png", ".mask.png"},
		{"..", "..-mask.png", "...mask.png"},
		{"a/..", "a/..-mask.png", "a/...mask.png"},
		{"..png", ".-mask.png", "..mask.png"},
		{"x.p_g", "x-mask.png", "x.mask.png"},
		{"x.é", "x-mask.png", "x.mask.png"},
		{"x.p g", "x-mask.png", "x.mask.png"},
		{"x.(g)", "x-mask.png", "x.(g).mask.png"},
		{"x.p$", "x-mask.png", "x.p$.mask.png"},
		{"x.^", "x-mask.png", "x.^.mask.png"},
		{"x.a{1}", "x-mask.png", "x.a{1}.mask.png"},
		{`x.p\`, "x-mask.png", `x.p\.mask.png`},
		{"x.[(]", "x-mask.png", "x.[(].mask.png"},
		// [D] kept, where the original cut in the middle
		{"x.a|b", "x-mask.png", "x.a|b.mask.png"},
		{"x.g?", "x-mask.png", "x.g?.mask.png"},
	}
	for _, tt := range tests {
		for b, want := range map[Backend]string{Claude: tt.claude, Pi: tt.pi} {
			got, err := b.MaskPath(tt.path)
			if err != nil {
				if got = none; CodeOf(err) != InvalidTarget {
					t.Errorf("%v.MaskPath(%q): %v", b, tt.path, err)
				}
			}
			if got != want {
				t.Errorf("%v.MaskPath(%q) = %q, want %q", b, tt.path, got, want)
			}
		}
	}
	if got, err := Backend(2).MaskPath("x.png"); CodeOf(err) != InvalidTarget {
		t.Errorf("an unknown backend: %q, %v", got, err)
	}
}

func TestReport(t *testing.T) {
	tests := []struct {
		name                           string
		backend                        Backend
		root, submitted, written, want string
	}{
		{"bk/MN2 the root is configured through a link", Pi, "/link", "", "/brain/a.mask.png", "/brain/a.mask.png"},
		{"[D] a prefix ends at a component", Pi, "/brain", "", "/brain2/a.mask.png", "/brain2/a.mask.png"},
		{"Pi tells the path beneath the root", Pi, "/brain", "", "/brain/a/b.mask.png", "a/b.mask.png"},
		{"a slash at the end of the root", Pi, "/brain/", "", "/brain/b.mask.png", "b.mask.png"},
		{"the root is the top", Pi, "/", "", "/a/b.mask.png", "a/b.mask.png"},
		{"bk/MN1 Claude tells the submitted path", Claude, "/brain", "link/a-mask.png", "/brain/assets/a-mask.png", "link/a-mask.png"},
		{"cleaned as text", Claude, "/brain", "link/../assets/a-mask.png", "/x", "assets/a-mask.png"},
		{"relative to the root", Claude, "/brain", "../brain/a-mask.png", "/x", "a-mask.png"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.backend.Report(tt.root, tt.submitted, tt.written); got != tt.want {
				t.Errorf("Report(%q, %q, %q) = %q, want %q", tt.root, tt.submitted, tt.written, got, tt.want)
			}
		})
	}
}
