package launcher

import (
	"path/filepath"

	"brainbox/envfilter"
	"brainbox/policy"
)

// searchPath rebuilds PATH: an element stays if it lies in an execute grant and in no
// write grant, so that the program cannot put its own git in front of the real one
// (escape matrix EV-10).
func searchPath(caller string, f *Facts) string {
	return envfilter.Path(caller, func(dir string) bool {
		p := openPath(dir)
		defer p.close()
		return p.Err == nil && p.Dir && (f.execOnly(p.Target) || f.holdsBridge(p.Target))
	})
}

// execOnly reports whether a resolved path may be executed and not written.
func (f *Facts) execOnly(target string) bool {
	exec := false
	for i, w := range f.Wants {
		if f.Paths[i].Err != nil || !policy.Below(target, f.Paths[i].Target) {
			continue
		}
		if w.Right.Writes() {
			return false
		}
		exec = exec || w.Right.Execs()
	}
	return exec
}

// holdsBridge reports whether a folder is where the program finds brainbox itself, to call
// the host with: then that file is granted, and nothing else there.
func (f *Facts) holdsBridge(target string) bool {
	if f.Bridge == nil {
		return false
	}
	for i, w := range f.Wants {
		if f.Paths[i].Err == nil && w.Right.Writes() && policy.Below(target, f.Paths[i].Target) {
			return false
		}
	}
	for _, program := range ownPrograms("brainbox") {
		if filepath.Dir(program) == target {
			return true
		}
	}
	return false
}
