package mask

import (
	"strings"
	"testing"

	"brainbox/dirchain"
)

func TestCheckPath(t *testing.T) {
	const ok = Code("")
	tests := []struct {
		name, path string
		want       Code
	}{
		{"bk/HM13", "assets/../assets/raft.png", InvalidTarget},
		{"bk/HM14", "context/policies/crew.png", PolicyDenied},
		{"bk/HM14 capitals", "Context/Policies/x.png", PolicyDenied},
		{"bk/HM14 full width", "context/ｐolicies/x.png", PolicyDenied},
		{"full width slash", "context／policies／x.png", PolicyDenied},
		{"long s and ligature", "context/policieſ/x.png", PolicyDenied},
		{"what leads to the policy", "context", PolicyDenied},
		{"what leads to it, in capitals", "CONTEXT", PolicyDenied},
		{"the policy itself", "context/policies", PolicyDenied},
		{"deeper", "context/policies/a/b.png", PolicyDenied},
		{"bk/HM15 git", ".git/raft.png", InvalidTarget},
		{"bk/HM15 another brain", ".brain/other/x.png", InvalidTarget},
		{"bk/HM15 a dot in scratch", ".brain/scratch/.x.png", InvalidTarget},
		{"a dot deeper in scratch", ".brain/scratch/a/.b/x.png", InvalidTarget},
		{"scratch in scratch", ".brain/scratch/.brain/scratch/x.png", InvalidTarget},
		{"scratch below", "a/.brain/scratch/x.png", InvalidTarget},
		{"scratch in capitals", ".Brain/scratch/x.png", InvalidTarget},
		{"the scratch area", ".brain/scratch", InvalidTarget},
		{"a name that begins as scratch does", ".brain/scratches/x.png", InvalidTarget},
		{"a full width dot", "．git/x.png", InvalidTarget},
		{"two dots in one character", "‥/x.png", InvalidTarget},
		{"a dot file", "assets/.png", InvalidTarget},
		{"bk/HM17 no image", "assets/raft.txt", InvalidTarget},
		{"no extension", "assets/png", InvalidTarget},
		{"an extension behind an image's", "raft.png.sh", InvalidTarget},
		{"bk/HM26 absolute", "/assets/raft.png", InvalidTarget},
		{"bk/HM26 a slash at the end", "assets/", InvalidTarget},
		{"bk/HM26 a slash behind an image", "assets/raft.png/", InvalidTarget},
		{"bk/HM26 two slashes", "assets//raft.png", InvalidTarget},
		{"bk/HM26 backslash", `a\\b.png`, InvalidTarget},
		{"bk/HM26 U+0000", "a\x00.png", InvalidTarget},
		{"bk/HM26 1025", strings.Repeat("a", 1021) + ".png", InvalidTarget},
		{"1025 units in fewer characters", "a" + strings.Repeat("𝄞", 510) + ".png", InvalidTarget},
		{"empty", "", InvalidTarget},
		{"the root", ".", InvalidTarget},
		{"the parent", "../x.png", InvalidTarget},
		{"a line end", "a\n.png", InvalidTarget},
		{"U+007F", "a\x7f.png", InvalidTarget},
		{"U+0085", "a\u0085.png", InvalidTarget},
		{"no UTF-8", "a\xff.png", InvalidTarget},

		{"1024", strings.Repeat("a", 1020) + ".png", ok},
		{"1024 units in fewer characters", strings.Repeat("𝄞", 510) + ".png", ok},
		{"bk/HM16", "context/notes/a.png", ok},
		{"a name that begins as the policy does", "context/policies.png", ok},
		{"a policy that is elsewhere", "assets/context/policies/x.png", ok},
		{"context is a part of a name", "contexts/policies/x.png", ok},
		{"scratch", ".brain/scratch/x.png", ok},
		{"nested scratch", ".brain/scratch/a/b/x.png", ok},
		{"capitals in the extension", "assets/raft.PnG", ok},
		{"not ASCII", "assets/Flöße/筏.jpeg", ok},
		{"dots inside", "a..b/c.d.svg", ok},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckPath(tt.path)
			if tt.want == ok {
				if err != nil {
					t.Errorf("CheckPath(%q): %v", tt.path, err)
				}
				return
			}
			if err == nil || CodeOf(err) != tt.want {
				t.Errorf("CheckPath(%q): %v, want %s", tt.path, err, tt.want)
			}
		})
	}
	for _, ext := range strings.Fields("png jpg jpeg webp gif avif heic bmp tif tiff svg PNG Tiff") {
		if err := CheckPath("x." + ext); err != nil {
			t.Errorf("%s: %v", ext, err)
		}
	}
}

// FuzzCheckPath: what passes is a path that cannot leave the root nor reach what
// it must not, by its text.
func FuzzCheckPath(f *testing.F) {
	for _, seed := range []string{
		"assets/raft.png", ".brain/scratch/x.png", "context/ｐolicies/x.png", "a/../b.png", "x.p[g]", "a\\b.png", "‥/x.png",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if CheckPath(path) != nil {
			return
		}
		parts, long := strings.Split(path, "/"), false
		for _, part := range parts {
			long = long || len(part) > dirchain.MaxPart
		}
		if _, err := dirchain.SplitPath(path); err != nil && !long && len(parts) <= dirchain.MaxDepth {
			t.Errorf("%q: %v", path, err)
		}
		for _, b := range []Backend{Claude, Pi} {
			name, err := b.MaskPath(path)
			if err != nil || len(name) > len(path)+len("-mask.png") || !strings.HasSuffix(name, "mask.png") {
				t.Errorf("%q: %q, %v", path, name, err)
			}
			if err = CheckPath(name); err != nil && units(name) <= MaxPath {
				t.Errorf("%q gives %q: %v", path, name, err)
			}
		}
		if strings.EqualFold(path, "context") || strings.HasPrefix(strings.ToLower(path), PolicyDir+"/") {
			t.Errorf("%q passes", path)
		}
	})
}
