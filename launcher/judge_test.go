package launcher

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/policy"
)

// show writes a judgement in one line.
func (g Judgement) show() string {
	var b strings.Builder
	b.WriteString([...]string{"undecided", "allowed", "refused"}[g.Verdict])
	if g.Verdict == Refused {
		fmt.Fprintf(&b, " %s %s %s", firstOf(g.Right, "-"), g.Place, errnoWord(g.Errno))
		if g.Clause != "files" {
			b.WriteString(" by " + g.Clause)
		}
		if g.Remedy.Flag != "" {
			b.WriteString(" => " + g.Remedy.Flag)
		}
	}
	return b.String()
}

func errnoWord(e syscall.Errno) string { return firstOf(unix.ErrnoName(e), "-") }

type judged struct {
	op   Operation
	want string
}

const judgePolicy = `[filesystem]
read = ["/srv/r"]
exec = ["/usr", "/srv/x"]
write = ["/home/u/co", "/srv/w", "/srv/f.txt"]
write_exec = ["/srv/wx"]
`

func judgeTree() []string {
	return append(debian(), "/srv/r/f", "/srv/r/dir/", "/srv/w/dir/", "/srv/w/f", "/srv/wx/f", "/srv/x/f", "/srv/f.txt", "/srv/n/f")
}

// What isolation landlock says, operation by operation.
func TestJudgeOutside(t *testing.T) {
	h := host{abi: 7, uid: 1000}
	p := resolve(t, judgePolicy)
	w := world{host: h, tree: judgeTree()}
	f := w.facts(p)
	f.Inside = nil
	j := NewJudge(newPlan(p, f, false), f)
	reg, dir := KindRegular, KindFolder
	for _, c := range []judged{
		{Operation{Op: OpRead, Path: "/srv/r/f", Kind: reg}, "allowed"},
		{Operation{Op: OpRead, Path: "/srv/r", Kind: dir}, "allowed"},
		{Operation{Op: OpRead, Path: "/srv/n/f", Kind: reg}, "refused read_file /srv/n/f EACCES => --ro /srv/n/f"},
		{Operation{Op: OpRead, Path: "/srv/n", Kind: dir}, "refused read_dir /srv/n EACCES => --ro /srv/n"},
		{Operation{Op: OpRead, Path: "/srv/f.txt", Kind: reg}, "allowed"},
		{Operation{Op: OpRead, Path: "/", Kind: dir}, "refused read_dir / EACCES"},
		{Operation{Op: OpRead, Path: "/home/u", Kind: dir}, "refused read_dir /home/u EACCES"},
		{Operation{Op: OpWrite, Path: "/srv/r/f", Kind: reg}, "refused write_file /srv/r/f EACCES => --rw /srv/r/f"},
		{Operation{Op: OpWrite, Path: "/srv/r/new"}, "refused make_reg /srv/r EACCES => --rw /srv/r"},
		{Operation{Op: OpTruncate, Path: "/srv/r/f", Kind: reg}, "refused truncate /srv/r/f EACCES => --rw /srv/r/f"},
		{Operation{Op: OpWrite, Path: "/srv/w/new"}, "allowed"},
		{Operation{Op: OpExec, Path: "/usr/bin/sh", Kind: reg}, "allowed"},
		{Operation{Op: OpExec, Path: "/srv/r/f", Kind: reg}, "refused execute /srv/r/f EACCES => --rox /srv/r/f"},
		{Operation{Op: OpExec, Path: "/srv/w/f", Kind: reg}, "refused execute /srv/w/f EACCES => --rwx /srv/w/f"},
		{Operation{Op: OpCreate, Path: "/srv/r/new", Kind: dir}, "refused make_dir /srv/r EACCES => --rw /srv/r"},
		{Operation{Op: OpCreate, Path: "/srv/w/new", Kind: KindChar}, "refused make_char /srv/w EPERM by seccomp"},
		{Operation{Op: OpCreate, Path: "/home/u/new", Kind: dir}, "refused make_dir /home/u EACCES"},
		{Operation{Op: OpRemove, Path: "/srv/f.txt", Kind: reg}, "refused remove_file /srv EACCES"},
		{Operation{Op: OpRemove, Path: "/srv/w/dir", Kind: dir}, "allowed"},
		{Operation{Op: OpRename, Path: "/srv/w/f", Dest: "/srv/w/g", Kind: reg}, "allowed"},
		{Operation{Op: OpRename, Path: "/srv/w/f", Dest: "/srv/w/dir/g", Kind: reg}, "allowed"},
		{Operation{Op: OpRename, Path: "/srv/w/f", Dest: "/srv/r/g", Kind: reg}, "refused make_reg /srv/r EACCES => --rw /srv/r"},
		{Operation{Op: OpRename, Path: "/srv/r/f", Dest: "/srv/w/g", Kind: reg}, "refused remove_file /srv/r EACCES => --rw /srv/r"},
		{Operation{Op: OpRename, Path: "/srv/w/f", Dest: "/srv/wx/g", Kind: reg}, "refused refer /srv/wx EXDEV => --rwx /srv/w"},
		{Operation{Op: OpRename, Path: "/srv/wx/f", Dest: "/srv/w/g", Kind: reg}, "allowed"},
		{Operation{Op: OpLink, Path: "/srv/r/f", Dest: "/srv/w/g", Kind: reg}, "refused refer /srv/r EXDEV => --rw /srv/r"},
		{Operation{Op: OpLink, Path: "/srv/r/f", Dest: "/srv/n/g", Kind: reg}, "refused make_reg /srv/n EACCES => --rw /srv/r --rw /srv/n"},
		{Operation{Op: OpWrite, Path: "/dev/null", Kind: KindChar}, "allowed"},
		{Operation{Op: OpWrite, Path: testRun + "/home/x"}, "allowed"},
		{Operation{Op: OpConnect, Port: 443}, "refused connect_tcp 443 EPERM by network => --net ports --connect-tcp 443"},
		{Operation{Op: OpUnix, Path: "/run/x.sock"}, "refused - /run/x.sock EPERM by unix => --unix /run/x.sock"},
		{Operation{Op: OpSyscall, Call: "read"}, "allowed"},
		{Operation{Op: OpSyscall, Call: "bpf"}, "refused -  EPERM by seccomp => --seccomp FILE"},
	} {
		if got := j.Judge(c.op).show(); got != c.want {
			t.Errorf("%+v:\n got %s\nwant %s", c.op, got, c.want)
		}
		proven(t, w, judgePolicy, false, c.op, j)
	}
}

// proven plans again with the suggested flags, as the command line adds them.
func proven(t *testing.T, w world, text string, inside bool, op Operation, j *Judge) {
	t.Helper()
	flag := j.Judge(op).Remedy.Flag
	if flag == "" || op.Op > OpLink {
		return
	}
	file, err := policy.Parse(policy.KindFile, testHome+"/policy.toml", []byte("version = 1\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	flags := policy.NewFlagLayer()
	rights := map[string]policy.Right{"--ro": policy.RightRead, "--rox": policy.RightExec, "--rw": policy.RightWrite, "--rwx": policy.RightWriteExec}
	words := strings.Fields(flag)
	for i := 0; i+1 < len(words); i += 2 {
		if words[i] == "--no-protect" {
			text = strings.Replace(text, "[network]", "[sandbox]\nallow_protected = [\""+words[i+1]+"\"]\n[network]", 1)
			if file, err = policy.Parse(policy.KindFile, testHome+"/policy.toml", []byte("version = 1\n"+text)); err != nil {
				t.Fatal(err)
			}
		} else if err := flags.AddGrant(words[i]+" "+words[i+1], words[i+1], rights[words[i]]); err != nil {
			t.Fatal(err)
		}
	}
	layers, err := policy.Layers("", file, flags)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Resolve(policy.Input{Vars: policy.Vars{Home: testHome, Pwd: testCwd, TmpDir: "/tmp", User: "u", Git: testCwd, Cwd: testCwd}}, layers...)
	if err != nil {
		t.Fatal(err)
	}
	p.Grants = slices.DeleteFunc(p.Grants, func(g policy.Grant) bool {
		return g.Right == policy.RightProtect && named(p.Sandbox.AllowProtected, g.Abs)
	})
	name := op.Path
	if op.Kind == KindFolder && op.Op != OpCreate {
		name += "/"
	}
	w.tree = append(slices.Clone(w.tree), name)
	f := w.facts(p)
	if !inside {
		f.Inside = nil
	}
	plan := newPlan(p, f, inside)
	if plan.Refusal != nil {
		t.Errorf("%+v: %s: refused: %s", op, flag, plan.Refusal.Message)
		return
	}
	if g := NewJudge(plan, f).Judge(op); g.Verdict != Allowed && op.Kind != KindAbsent {
		t.Errorf("%+v: %s does not help: %s", op, flag, g.show())
	}
}

// What isolation namespaces says.
func TestJudgeInside(t *testing.T) {
	w := world{host: host{abi: 7, uid: 1000}, tree: append(judgeTree(),
		"/mnt/a/f", "/mnt/b/", "/home/u/co/.git/config", "/home/u/co/.git/hooks/pre-commit", "/srv/w/keep", "/srv/w/secret/s", "/srv/w/s.sock =", "/run/db.sock =")}
	w.sockets = []string{"/srv/w/s.sock"}
	text := strings.Replace(judgePolicy, `"/srv/w"`, `"/srv/w", "/mnt/a", "/mnt/b"`, 1) + `protect = ["/srv/w/keep"]
deny = ["/srv/w/secret"]
[network]
unix = ["/run/db.sock"]
`
	plan, f := insidePlan(t, w, text)
	if plan.Refusal != nil {
		t.Fatalf("%+v", plan.Refusal)
	}
	j := NewJudge(plan, f)
	reg, dir := KindRegular, KindFolder
	for _, c := range []judged{
		{Operation{Op: OpRead, Path: "/srv/r/f", Kind: reg}, "allowed"},
		{Operation{Op: OpRead, Path: "/srv", Kind: dir}, "allowed"},
		{Operation{Op: OpRead, Path: "/srv/n/f", Kind: reg}, "refused - /srv/n/f ENOENT => --ro /srv/n/f"},
		{Operation{Op: OpWrite, Path: "/srv/r/f", Kind: reg}, "refused write_file /srv/r/f EROFS => --rw /srv/r/f"},
		{Operation{Op: OpWrite, Path: "/srv/r/new"}, "refused write_file /srv/r EROFS => --rw /srv/r"},
		{Operation{Op: OpCreate, Path: "/srv/new", Kind: reg}, "refused write_file /srv EROFS"},
		{Operation{Op: OpTruncate, Path: "/srv/w/f", Kind: reg}, "allowed"},
		{Operation{Op: OpExec, Path: "/srv/w/f", Kind: reg}, "refused execute /srv/w/f EACCES => --rox /srv/w/f"},
		{Operation{Op: OpExec, Path: "/usr/bin/sh", Kind: reg}, "allowed"},
		{Operation{Op: OpWrite, Path: "/srv/w/keep", Kind: reg}, "refused - /srv/w/keep EROFS by protect => --no-protect /srv/w/keep"},
		{Operation{Op: OpRemove, Path: "/srv/w/keep", Kind: reg}, "refused - /srv/w/keep EBUSY by protect => --no-protect /srv/w/keep"},
		{Operation{Op: OpRead, Path: "/srv/w/secret/s", Kind: reg}, "refused - /srv/w/secret/s ENOENT by deny"},
		{Operation{Op: OpRead, Path: "/srv/w/secret", Kind: dir}, "refused - /srv/w/secret - by deny"},
		{Operation{Op: OpRename, Path: "/srv/w/f", Dest: "/srv/w/dir/f", Kind: reg}, "allowed"},
		{Operation{Op: OpRename, Path: "/srv/w/f", Dest: "/home/u/co/f", Kind: reg}, "refused refer /home/u/co EXDEV"},
		{Operation{Op: OpRename, Path: "/srv/w/f", Dest: "/srv/w/secret/f", Kind: reg}, "refused refer /srv/w/secret EXDEV"},
		{Operation{Op: OpRename, Path: "/srv/w/f", Dest: "/srv/w/secret/d/f", Kind: reg}, "refused - /srv/w/secret/d ENOENT by deny"},
		{Operation{Op: OpRename, Path: "/srv/w/secret/d/f", Dest: "/srv/w/f", Kind: reg}, "refused - /srv/w/secret/d ENOENT by deny"},
		{Operation{Op: OpRename, Path: "/mnt/a/f", Dest: "/mnt/b/f", Kind: reg}, "refused refer /mnt/b EXDEV => --rw /mnt"},
		{Operation{Op: OpRead, Path: "/tmp/x", Kind: KindAbsent}, "refused - /tmp/x ENOENT => --ro /tmp/x"},
		{Operation{Op: OpRead, Path: "/tmp/x", Kind: reg}, "allowed"},
		{Operation{Op: OpWrite, Path: "/tmp/x"}, "allowed"},
		{Operation{Op: OpWrite, Path: "/dev/null", Kind: KindChar}, "allowed"},
		{Operation{Op: OpUnix, Path: "/run/db.sock"}, "allowed"},
		{Operation{Op: OpUnix, Path: "/srv/w/s.sock"}, "refused resolve_unix /srv/w/s.sock EACCES by unix => --unix /srv/w/s.sock"},
		{Operation{Op: OpUnix, Path: "/run/other.sock"}, "refused resolve_unix /run/other.sock ENOENT by unix => --unix /run/other.sock"},
		{Operation{Op: OpConnect, Port: 443}, "refused connect_tcp 443 - by network => --net ports --connect-tcp 443"},
		{Operation{Op: OpConnect, Port: 443, Path: "127.0.0.1"}, "allowed"},
	} {
		if got := j.Judge(c.op).show(); got != c.want {
			t.Errorf("%+v:\n got %s\nwant %s", c.op, got, c.want)
		}
		proven(t, w, text, true, c.op, j)
	}
}
