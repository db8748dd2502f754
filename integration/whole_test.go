package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// elsewhere are rows of the matrix that have no attempt of their own here, and why.
var elsewhere = map[string]string{
	"FS-41": "the ring is refused as a whole: SC-05",
	"IN-07": "there is no socket to hand a descriptor through but a listed one: IP-03, IP-21",
	"PR-26": "there is no init in isolation landlock",
	"NS-08": "isolation landlock mounts nothing",
	"NS-09": "isolation landlock mounts nothing",
	"NS-10": "the mount is refused: NS-05, the set-id program: NS-11",
	"NS-13": "set-id helpers: NS-11",
	"SC-07": "the compiler of profiles has its own tests",
	"SC-10": "package broker asks for a second listener",
	"SC-11": "package broker has the races",
	"SC-12": "nothing but connect is notified: package seccomp/profile",
	"SC-13": "packages notify and broker end the listener",
	"SC-14": "the victim is a Go program, whose runtime handles SIGSYS: SC-01 and SC-02 end it all the same",
	"SC-16": "package seccomp/profile looks at every rule",
	"LA-03": "needs a kernel newer than the library; package landlock tests the numbers",
	"LA-11": "package spawn makes each self-test fail",
	"IP-13": "what a host's process connects to is its own affair",
	"IP-20": "there is no bridge in this version",
	"PX-11": "package proxy sends a second request on one connection",
	"PX-14": "not held: what goes through TLS is not looked at",
}

// TestMatrixIsWhole looks for every row of the areas that these tests are about in
// their own text: a row that is forgotten is a gap that nobody sees.
func TestMatrixIsWhole(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	must(t, err)
	if len(files) == 0 {
		t.Skip("the sources are not here") // gating: a copied test binary has none
	}
	named := map[string]bool{}
	id := regexp.MustCompile(`(?:"|esc/)([A-Z]{2}-[0-9]{2})`) // in a string, not in a comment
	for _, f := range files {
		text, err := os.ReadFile(f)
		must(t, err)
		if f == "whole_test.go" {
			continue
		}
		for _, found := range id.FindAllStringSubmatch(string(text), -1) {
			named[found[1]] = true
		}
	}
	for area, rows := range map[string]int{
		"FS": 41, "MD": 16, "IN": 15, "PR": 27, "NS": 24, "SC": 16, "TT": 8, "EV": 14, "LA": 19, "NW": 19, "PX": 26, "IP": 21,
	} {
		for n := 1; n <= rows; n++ {
			row := fmt.Sprintf("%s-%02d", area, n)
			if why := elsewhere[row]; named[row] == (why != "") {
				t.Errorf("%s: named here: %v, named elsewhere: %q: want one of the two", row, named[row], why)
			}
		}
	}
}
