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
	"IN-07": "there is no socket to hand a descriptor through: IP-03, IP-21",
	"PR-18": "clause pids is refused without a controller of cgroup v2",
	"PR-19": "clause memory is refused without a controller of cgroup v2",
	"PR-22": "isolation landlock has no quota of names",
	"PR-26": "there is no init in isolation landlock",
	"NS-08": "isolation landlock mounts nothing",
	"NS-09": "isolation landlock mounts nothing",
	"NS-10": "the mount is refused: NS-05, the set-id program: NS-11",
	"NS-13": "set-id helpers: NS-11",
	"SC-07": "the compiler of profiles has its own tests",
	"SC-10": "no notification listener in this isolation's default",
	"SC-11": "no notification listener in this isolation's default",
	"SC-12": "no notification listener in this isolation's default",
	"SC-13": "no notification listener in this isolation's default",
	"SC-14": "the victim is a Go program, whose runtime handles SIGSYS: SC-01 and SC-02 end it all the same",
	"SC-16": "no notification listener in this isolation's default",
	"LA-03": "needs a kernel newer than the library; package landlock tests the numbers",
	"LA-11": "package spawn makes each self-test fail",
	"IP-05": "a socket by path: IP-03", "IP-06": "a socket by path: IP-03", "IP-07": "a socket by path: IP-03",
	"IP-08": "a socket by path: IP-03", "IP-09": "sockets by path and abstract: IP-01, IP-03",
	"NW-07": "UDP is refused: NW-06", "NW-08": "sockets by path: IP-03",
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
		"FS": 41, "MD": 16, "IN": 15, "PR": 27, "NS": 24, "SC": 16, "TT": 8, "EV": 14, "LA": 19, "NW": 13, "IP": 9,
	} {
		for n := 1; n <= rows; n++ {
			row := fmt.Sprintf("%s-%02d", area, n)
			if why := elsewhere[row]; named[row] == (why != "") {
				t.Errorf("%s: named here: %v, named elsewhere: %q: want one of the two", row, named[row], why)
			}
		}
	}
}
