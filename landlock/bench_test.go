package landlock

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	gl "github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// BenchmarkBuild compares the way of this package, with descriptors that are
// held already and with opening them, to go-landlock's Config, which opens paths.
func BenchmarkBuild(b *testing.B) {
	sup := probe(b, 6)
	for _, n := range []int{10, 100, 1000} {
		dir := b.TempDir()
		paths := make([]string, n)
		rules := make([]Rule, n)
		for i := range paths {
			paths[i] = filepath.Join(dir, fmt.Sprint(i))
			must(b, os.Mkdir(paths[i], 0o700))
			rules[i] = Rule{FD: hold(b, paths[i]), Dir: true, Right: Read}
		}
		spec := Spec{Rules: rules, Degraded: all()}
		b.Run(fmt.Sprintf("held/%d", n), func(b *testing.B) {
			for b.Loop() {
				fd, err := Build(spec, sup)
				must(b, err)
				must(b, unix.Close(fd))
			}
		})
		b.Run(fmt.Sprintf("opened/%d", n), func(b *testing.B) {
			opened := Spec{Rules: make([]Rule, n), Degraded: all()}
			for b.Loop() {
				for i, path := range paths {
					fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
					must(b, err)
					opened.Rules[i] = Rule{FD: fd, Dir: true, Right: Read}
				}
				fd, err := Build(opened, sup)
				must(b, err)
				must(b, unix.Close(fd))
				for _, r := range opened.Rules {
					must(b, unix.Close(r.FD))
				}
			}
		})
		b.Run(fmt.Sprintf("go-landlock/%d", n), func(b *testing.B) {
			for b.Loop() {
				fd, _, err := gl.V6.NewRulesetFD(gl.RODirs(paths...))
				must(b, err)
				must(b, unix.Close(fd))
			}
		})
	}
}
