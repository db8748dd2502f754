package scratch

import (
	"errors"
	"testing"

	"brainbox/dirchain"
)

func TestMember(t *testing.T) {
	const in, out = Location + "/a/f.png", "assets/f.png"
	tests := []struct {
		name, asked, resolved string
		want                  bool
		err                   error
	}{
		{"asked for elsewhere, lies elsewhere", out, out, false, nil},
		{"asked for in the area, lies in it", in, in, true, nil},
		{"asked for elsewhere, resolves into the area", "link/f.png", in, true, nil},
		{"asked for in the area, resolves elsewhere", in, out, false, ErrElsewhere},
		{"asked for in the area, resolves beside it", in, ".brain/scratchy/f", false, ErrElsewhere},
		{"asked for the area itself", Location, Location, false, ErrTarget},
		{"resolves to the area itself", "link", Location, false, ErrTarget},
		{"asked for in the area, resolves to the root", in, ".", false, dirchain.ErrPath},
		{"leaves the root", in, "../x", false, dirchain.ErrPath},
		{"a longer name", ".brain/scratch2/f", ".brain/scratch2/f", false, nil},
		{"another spelling is another directory", ".BRAIN/scratch/f", ".BRAIN/scratch/f", false, nil},
		{"further down", "a/.brain/scratch/f", "a/.brain/scratch/f", false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Member(tt.asked, tt.resolved)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("Member(%q, %q) = %v, %v, want %v, %v", tt.asked, tt.resolved, got, err, tt.want, tt.err)
			}
		})
	}
}
