package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"brainbox/internal/strictjson"
	"brainbox/launcher"
	"brainbox/policy"
)

// whyOps are the operations on files, and what of the policy each is about.
var whyOps = map[string]struct {
	op    launcher.Op
	right policy.Right
}{
	"read":   {launcher.OpRead, policy.RightRead},
	"write":  {launcher.OpWrite, policy.RightWrite},
	"exec":   {launcher.OpExec, policy.RightExec},
	"create": {launcher.OpCreate, policy.RightWrite},
	"remove": {launcher.OpRemove, policy.RightWrite},
	"rename": {launcher.OpRename, policy.RightWrite},
}

// found is what one look at a name found on the host.
type found struct {
	path string
	kind launcher.FileKind
}

// lookAt follows the links of a name: of one that does not exist yet, those of its folder. The
// last component is not followed where the name itself is changed.
func lookAt(name string, follow bool) (found, *verdict) {
	unknown := func(reason string) (found, *verdict) {
		return found{}, &verdict{status: whyUnknown, reason: reason}
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return unknown(err.Error())
	}
	target := ""
	err = fs.ErrNotExist
	if follow || abs == "/" {
		target, err = filepath.EvalSymlinks(abs)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, lerr := os.Lstat(abs); lerr == nil && follow {
			return unknown(quote(name) + " is a link that leads nowhere")
		}
		var dir string
		dir, err = filepath.EvalSymlinks(filepath.Dir(abs))
		target = filepath.Join(dir, filepath.Base(abs))
	}
	if err != nil {
		return unknown(err.Error())
	}
	return found{target, kindOf(target)}, nil
}

func kindOf(path string) launcher.FileKind {
	st, err := os.Lstat(path)
	if err != nil {
		return launcher.KindAbsent
	}
	switch mode := st.Mode(); {
	case mode.IsDir():
		return launcher.KindFolder
	case mode&fs.ModeSymlink != 0:
		return launcher.KindLink
	case mode&fs.ModeSocket != 0:
		return launcher.KindSocket
	case mode&fs.ModeNamedPipe != 0:
		return launcher.KindFIFO
	case mode&fs.ModeCharDevice != 0:
		return launcher.KindChar
	case mode&fs.ModeDevice != 0:
		return launcher.KindBlock
	}
	return launcher.KindRegular
}

// whyPath answers for one file: for one that does not exist yet, for its folder.
func whyPath(f *launcher.Facts, p *launcher.Plan, word, name string) (verdict, error) {
	asked := whyOps[word]
	if abs, err := filepath.Abs(name); err == nil && word == "read" {
		if allowed, known, reason := p.ProcRead(abs); known {
			return verdict{status: denyUnless(allowed), reason: reason}, nil
		}
	}
	at, v := lookAt(name, asked.op != launcher.OpCreate && asked.op != launcher.OpRemove)
	if v != nil {
		return *v, nil
	}
	o := launcher.Operation{Op: asked.op, Path: at.path, Kind: at.kind}
	switch {
	case asked.op == launcher.OpCreate && at.kind == launcher.KindAbsent:
		o.Kind = launcher.KindRegular
	case at.kind == launcher.KindAbsent && (word == "read" || word == "exec"):
		o.Kind = launcher.KindRegular // as if it were there
	}
	j := launcher.NewJudge(p, f)
	g := j.Judge(o)
	switch {
	case g.Verdict == launcher.Allowed && !j.There(at.path) && (at.kind != launcher.KindAbsent || !j.There(filepath.Dir(at.path))):
		return ownInstead(p, at.path), nil
	case g.Verdict == launcher.Allowed && at.kind == launcher.KindSocket && asked.op != launcher.OpRemove:
		return verdict{status: whyDenied, reason: "it is a socket, which nobody can open", hint: "brainbox why unix " + quote(at.path)}, nil
	case g.Verdict == launcher.Allowed && j.There(at.path) && !p.Permits(f, asked.right, modeOf(asked.op, at.path)):
		return verdict{
			status: whyDenied, reason: "it is granted, and its mode refuses it to the program's user",
			hint: "chmod, or another user: no grant gives more than the user has",
		}, nil
	}
	return toldOf(p, &g, word, quote(at.path)), nil
}

// modeOf is the path whose mode decides: of the folder, for who changes the name.
func modeOf(op launcher.Op, path string) string {
	if op == launcher.OpCreate || op == launcher.OpRemove || op == launcher.OpRename {
		return filepath.Dir(path)
	}
	return path
}

// ownInstead answers where the program has something of its own.
func ownInstead(p *launcher.Plan, path string) verdict {
	_, place := p.Held(path)
	return verdict{
		status: whyDenied, reason: "the program has a " + quote(place) + " of its own, without what the host has there",
		hint: "grant " + quote(path) + " itself",
	}
}

// whyRename answers for rename(2).
func whyRename(f *launcher.Facts, p *launcher.Plan, from, to string) verdict {
	old, v := lookAt(from, false)
	if v != nil {
		return *v
	}
	dest, v := lookAt(to, false)
	if v != nil {
		return *v
	}
	if old.kind == launcher.KindAbsent {
		old.kind = launcher.KindRegular // as if it were there
	}
	j := launcher.NewJudge(p, f)
	g := j.Judge(launcher.Operation{Op: launcher.OpRename, Path: old.path, Dest: dest.path, Kind: old.kind, Over: dest.kind})
	if g.Verdict == launcher.Allowed {
		for _, path := range []string{old.path, filepath.Dir(dest.path)} {
			switch {
			case !j.There(path):
				return ownInstead(p, path)
			case !p.Permits(f, policy.RightWrite, filepath.Dir(old.path)):
				return verdict{status: whyDenied, reason: "it is granted, and the mode of its folder refuses it to the program's user"}
			}
		}
		if apart(old.path, filepath.Dir(dest.path)) {
			return verdict{status: whyDenied, reason: "they are on two file systems (EXDEV), whatever is granted", hint: "programs copy it then, as mv(1) does"}
		}
	}
	return toldOf(p, &g, "rename", quote(old.path)+" to "+quote(dest.path))
}

// apart reports whether two places are on different file systems.
func apart(a, b string) bool {
	var one, other unix.Stat_t
	return unix.Lstat(a, &one) == nil && unix.Lstat(b, &other) == nil && one.Dev != other.Dev
}

// toldOf is a judgement as an answer.
func toldOf(p *launcher.Plan, g *launcher.Judgement, word, what string) verdict {
	out := verdict{reason: g.Reason, judged: g}
	switch g.Verdict {
	case launcher.Allowed:
		if g.Entry != nil {
			out.reason = word + " is granted by " + g.Entry.Right + " " + quote(g.Entry.Value) + " (" + sourceName(p, g.Entry.Source) + ")"
		}
		return out
	case launcher.Undecided:
		out.status = whyUnknown
		return out
	case launcher.Refused:
	}
	out.status = whyDenied
	if g.Right != "" && g.Clause == "files" && g.Errno != unix.EXDEV {
		out.reason = "no entry grants " + word + " on " + what
	}
	out.hint = remedyHint(&g.Remedy)
	return out
}

// remedyHint is a remedy in a sentence.
func remedyHint(r *launcher.Remedy) string {
	hint := ""
	if r.Flag != "" {
		hint = r.Flag + " would allow it"
	}
	if r.Note != "" {
		if hint != "" {
			hint += "; "
		}
		hint += r.Note
	}
	return hint
}

// addJudgement adds what is known of the kernel's answer.
func addJudgement(out *strictjson.Value, p *launcher.Plan, g *launcher.Judgement) {
	if g == nil {
		g = &launcher.Judgement{}
	}
	out.Add("right", text(g.Right))
	out.Add("place", text(g.Place))
	out.Add("errno", text(unix.ErrnoName(g.Errno)))
	out.Add("clause", text(g.Clause))
	entry := strictjson.Null()
	if e := g.Entry; e != nil {
		entry = strictjson.Object(
			strictjson.Pair("value", strictjson.Text(e.Value)), strictjson.Pair("path", strictjson.Text(e.Path)),
			strictjson.Pair("right", strictjson.Text(e.Right)), strictjson.Pair("source", strictjson.Text(sourceName(p, e.Source))),
		)
	}
	out.Add("entry", entry)
	remedy := strictjson.Null()
	if g.Remedy != (launcher.Remedy{}) {
		remedy = strictjson.Object(
			strictjson.Pair("flag", text(g.Remedy.Flag)), strictjson.Pair("line", text(g.Remedy.Line)), strictjson.Pair("note", text(g.Remedy.Note)),
		)
	}
	out.Add("remedy", remedy)
}

// text is null for what is not known.
func text(s string) strictjson.Value {
	if s == "" {
		return strictjson.Null()
	}
	return strictjson.Text(s)
}
