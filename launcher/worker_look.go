package launcher

import (
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// look looks at what the worker names. It creates nothing.
func (w *Worker) look() *workerLook {
	l := &workerLook{goos: runtime.GOOS, root: os.Geteuid() == 0, scratch: w.scratch()}
	l.repo = lookPath(w.Repo)
	if l.scratchLeadsTo = l.scratch; plainPath(l.scratch) {
		l.scratchLeadsTo = resolvedPrefix(l.scratch)
	}
	if w.State != "" {
		l.state = lookPath(w.State)
	}
	if w.Relay != "" {
		l.relay, l.relayDir = lookPath(w.Relay), filepath.Dir(w.Relay)
		l.relayOf = lookPath(l.relayDir)
	}
	for _, r := range w.Read {
		l.reads = append(l.reads, lookPath(r))
	}
	return l
}

func lookPath(path string) pathLook {
	if !filepath.IsAbs(path) {
		return pathLook{Err: &os.PathError{Op: "open", Path: path, Err: unix.EINVAL}}
	}
	p := openPath(path)
	if p.Err != nil {
		return pathLook{Err: p.Err}
	}
	defer p.close()
	var st unix.Stat_t
	var fs unix.Statfs_t
	if err := unix.Fstat(p.fd, &st); err != nil {
		return pathLook{Err: &os.PathError{Op: "fstat", Path: path, Err: err}}
	}
	if err := unix.Fstatfs(p.fd, &fs); err != nil {
		return pathLook{Err: &os.PathError{Op: "fstatfs", Path: path, Err: err}}
	}
	return pathLook{
		Target: p.Target, Kind: st.Mode & unix.S_IFMT, Mode: st.Mode & 0o7777,
		Mine: int(st.Uid) == os.Geteuid(), Dev: st.Dev, Ino: st.Ino, FSType: fs.Type,
	}
}

// moved names the first path that no longer leads to what the rules were decided on: what a
// launch holds is looked at after the look, and after the probe. "" if all do.
func (l *workerLook) moved(w *Worker, f *Facts) string {
	checked := map[string]*pathLook{l.repo.Target: &l.repo}
	if w.State != "" {
		checked[w.State] = &l.state
	}
	if w.Relay != "" {
		checked[l.relayDir] = &l.relayOf
	}
	for i, r := range w.Read {
		checked[r] = &l.reads[i]
	}
	same := func(p *pathLook, held *PathFact) bool {
		return held.Err == nil && held.Target == p.Target && held.Dev == p.Dev && held.Ino == p.Ino
	}
	if !same(&l.repo, &f.Cwd) {
		return l.repo.Target
	}
	for i := range f.Wants {
		if p := checked[f.Wants[i].Abs]; p != nil && f.Wants[i].Source == sourceWorker && !same(p, &f.Paths[i]) {
			return f.Wants[i].Abs
		}
	}
	return ""
}

// workerPlace is where a worker's paths are seen from: its repository.
func workerPlace(repo string) (*Place, error) {
	pl, err := Look(nil)
	if err != nil {
		return nil, err
	}
	pl.Cwd, pl.Git = repo, ""
	return pl, nil
}
