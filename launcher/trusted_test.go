package launcher

import (
	"strings"
	"testing"
)

// A program chooses what is denied to it. What lets it out, or shows it keys, is told apart
// from what may be granted without a thought.
func TestRemedyRisk(t *testing.T) {
	p := resolve(t, judgePolicy)
	w := world{host: host{abi: 9, uid: 1000}, tree: judgeTree()}
	f := w.facts(p)
	f.Inside = nil
	j := NewJudge(newPlan(p, f, false), f)
	reg := KindRegular
	for _, c := range []struct {
		op   Operation
		want string // what the risk has in it; "": there is none
	}{
		{Operation{Op: OpWrite, Path: "/home/u/.bashrc", Kind: reg}, "change what shells run"},
		{Operation{Op: OpCreate, Path: "/home/u/.local/bin/git", Kind: reg}, "change programs"},
		{Operation{Op: OpCreate, Path: "/home/u/.config/autostart/a.desktop", Kind: reg}, "change what the session"},
		{Operation{Op: OpWrite, Path: "/home/o/bin/x", Kind: reg}, "change programs"},
		{Operation{Op: OpCreate, Path: "/home/o/x", Kind: reg}, "change all that is a user's"},
		{Operation{Op: OpCreate, Path: "/srv/p/.git/hooks/post-commit", Kind: reg}, "change what git"},
		{Operation{Op: OpCreate, Path: "/usr/local/bin/x", Kind: reg}, "change what the host"},
		{Operation{Op: OpCreate, Path: "/etc/cron.d/x", Kind: reg}, "change what the host"},
		{Operation{Op: OpWrite, Path: "/proc/sys/kernel/core_pattern", Kind: reg}, "change settings"},
		{Operation{Op: OpWrite, Path: "/dev/sda", Kind: KindBlock}, "change a whole disk"},
		{Operation{Op: OpRead, Path: "/dev/nvme0n1", Kind: KindBlock}, "read a whole disk"},
		{Operation{Op: OpRead, Path: "/home/u/.aws/credentials", Kind: reg}, "read credentials of AWS"},
		{Operation{Op: OpRead, Path: "/home/o/.aws/credentials", Kind: reg}, "read credentials of AWS"},
		{Operation{Op: OpRead, Path: "/home/o", Kind: KindFolder}, "read the home folder"},
		{Operation{Op: OpRead, Path: "/etc/ssh/ssh_host_rsa_key", Kind: reg}, "read the host"},
		{Operation{Op: OpRead, Path: "/run/secrets/x", Kind: reg}, "read secrets"},
		{Operation{Op: OpUnix, Path: "/run/docker.sock", Kind: KindSocket}, "be root"},
		{Operation{Op: OpUnix, Path: "/run/user/1000/bus", Kind: KindSocket}, "start programs"},
		{Operation{Op: OpUnix, Path: "/tmp/ssh-XXXX/agent.12", Kind: KindSocket}, "use the keys"},
		{Operation{Op: OpUnix, Path: "/tmp/.X11-unix/X0", Kind: KindSocket}, "see and type"},

		{Operation{Op: OpUnix, Path: "/run/x.sock", Kind: KindSocket}, ""},
		{Operation{Op: OpRead, Path: "/home/u/.bashrc", Kind: reg}, ""},
		{Operation{Op: OpRead, Path: "/usr/local/bin/x", Kind: reg}, ""},
		{Operation{Op: OpRead, Path: "/srv/n/f", Kind: reg}, ""},
		{Operation{Op: OpWrite, Path: "/srv/n/f", Kind: reg}, ""},
		{Operation{Op: OpCreate, Path: "/home/u/src/x", Kind: reg}, ""},
		{Operation{Op: OpCreate, Path: "/srv/p/bin/x", Kind: reg}, ""},
		{Operation{Op: OpWrite, Path: "/dev/kvm", Kind: KindChar}, ""},
	} {
		g := j.Judge(c.op)
		if g.Verdict == Allowed {
			if c.op.Path != "/usr/local/bin/x" {
				t.Errorf("%+v is allowed", c.op)
			}
			continue
		}
		r := g.Remedy
		if r.Flag == "" || c.want == "" && r.Risk != "" || !strings.HasPrefix(r.Risk, c.want) {
			t.Errorf("%+v: %+v, want the risk %q", c.op, r, c.want)
		}
	}
}

// A process is another one in the next run, and so is its folder.
func TestRemedyOfProcess(t *testing.T) {
	p := resolve(t, judgePolicy)
	w := world{host: host{abi: 7, uid: 1000}, tree: judgeTree()}
	f := w.facts(p)
	f.Inside = nil
	j := NewJudge(newPlan(p, f, false), f)
	g := j.Judge(Operation{Op: OpWrite, Path: "/proc/123/coredump_filter", Kind: KindRegular})
	if g.Verdict != Refused || g.Remedy.Flag != "" || !strings.Contains(g.Remedy.Note, "process") {
		t.Errorf("%+v", g)
	}
	if g := j.Judge(Operation{Op: OpWrite, Path: "/proc/sys/vm/x", Kind: KindRegular}); g.Remedy.Flag != "--rw /proc/sys/vm/x" {
		t.Errorf("%+v", g)
	}
}

// What only the host has is asked for by its own flag, and no grant is suggested that would be
// refused: also in a folder of the program's own, where it is allowed all.
func TestJudgeHidden(t *testing.T) {
	p := resolve(t, judgePolicy)
	w := world{host: host{abi: 7, uid: 1000}, tree: judgeTree()}
	f := w.facts(p)
	f.Critical = append(f.Critical, Critical{Path: "/tmp/bb/brainbox", What: "the running brainbox"})
	j := NewJudge(newPlan(p, f, true), f)
	for _, c := range []struct {
		op   Operation
		want string
	}{
		{Operation{Op: OpUnix, Path: "/tmp/x.sock", Kind: KindSocket}, "--unix /tmp/x.sock"},
		{Operation{Op: OpRead, Path: "/tmp/f", Kind: KindRegular}, "--ro /tmp/f"},
		{Operation{Op: OpWrite, Path: "/tmp/f", Kind: KindRegular}, "--rw /tmp/f"},
		{Operation{Op: OpExec, Path: "/tmp/f", Kind: KindRegular}, "--rox /tmp/f"},
		{Operation{Op: OpCreate, Path: "/tmp/d/f", Kind: KindRegular}, "--rw /tmp/d"},
		{Operation{Op: OpRemove, Path: "/tmp/d/f", Kind: KindRegular}, "--rw /tmp/d"},
		{Operation{Op: OpCreate, Path: "/tmp/bb/f", Kind: KindRegular}, ""},
		{Operation{Op: OpRead, Path: "/srv/n/f", Kind: KindRegular}, "--ro /srv/n/f"},
	} {
		if g := j.Hidden(c.op); g.Verdict != Refused || g.Remedy.Flag != c.want {
			t.Errorf("%+v: %+v, want %q", c.op, g, c.want)
		}
	}
	for _, op := range []Operation{{Op: OpRead, Path: "/srv/r/f", Kind: KindRegular}, {Op: OpCreate, Path: "/srv/w/f", Kind: KindRegular}} {
		if g := j.Hidden(op); g.Verdict != Allowed {
			t.Errorf("%+v: %+v", op, g)
		}
	}
}

// What is suggested is what the command line takes: no flag names a port that the kernel
// chooses, nor a socket whose name it would take for a pattern or a variable.
func TestRemedyIsTaken(t *testing.T) {
	p := resolve(t, judgePolicy+"[network]\nmode = \"ports\"\n")
	w := world{host: host{abi: 9, uid: 1000}, tree: judgeTree()}
	f := w.facts(p)
	f.Inside = nil
	j := NewJudge(newPlan(p, f, false), f)
	for _, c := range []struct {
		op   Operation
		want string
	}{
		{Operation{Op: OpBind, Port: 0}, ""},
		{Operation{Op: OpBind, Port: 8080}, "--bind-tcp 8080"},
		{Operation{Op: OpUnix, Path: "/srv/*", Kind: KindSocket}, ""},
		{Operation{Op: OpUnix, Path: "/srv/$HOME", Kind: KindSocket}, ""},
		{Operation{Op: OpUnix, Path: "/srv/a b", Kind: KindSocket}, "--unix '/srv/a b'"},
	} {
		if g := j.Judge(c.op); g.Verdict != Refused || g.Remedy.Flag != c.want || g.Remedy == (Remedy{}) {
			t.Errorf("%+v: %+v, want %q", c.op, g, c.want)
		}
	}
}
