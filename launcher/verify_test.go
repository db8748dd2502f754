package launcher

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/landlock"
	"brainbox/policy"
)

// What is compared, and how.
func TestCompare(t *testing.T) {
	done, eacces, exdev, gone := Tried{Made: true}, Tried{Made: true, Errno: unix.EACCES}, Tried{Made: true, Errno: unix.EXDEV}, Tried{}
	at := func(ino uint64) Tried { return Tried{Made: true, Dev: 1, Ino: ino} }
	read, call := Operation{Op: OpRead, Path: "/srv/f"}, Operation{Op: OpSyscall, Call: "mount"}
	refused := func(e unix.Errno) Judgement { return Judgement{Verdict: Refused, Errno: e} }
	allowed := Judgement{Verdict: Allowed}
	for name, c := range map[string]struct {
		op         Operation
		j          Judgement
		free, held Tried
		want       Agreement
	}{
		"allowed and done":               {read, allowed, done, done, Agrees},
		"allowed and refused":            {read, allowed, done, eacces, Disagrees},
		"allowed and killed":             {read, allowed, done, gone, Disagrees},
		"refused and refused":            {read, refused(unix.EACCES), done, eacces, Agrees},
		"refused and done":               {read, refused(unix.EACCES), done, done, Disagrees},
		"refused with another error":     {read, refused(unix.EACCES), done, exdev, Disagrees},
		"refused, whatever the error":    {read, refused(0), done, exdev, Agrees},
		"refused and killed":             {read, refused(unix.EPERM), done, gone, Agrees},
		"allowed and another file":       {read, allowed, at(1), at(2), Disagrees},
		"allowed and the same file":      {read, allowed, at(1), at(1), Agrees},
		"refused and another file":       {read, refused(0), at(1), at(2), Agrees},
		"refused and the same file":      {read, refused(0), at(1), at(1), Disagrees},
		"a FIFO that nobody reads":       {read, allowed, Tried{Made: true, Errno: unix.ENXIO}, Tried{Made: true, Errno: unix.ENXIO}, Agrees},
		"a call, allowed":                {call, allowed, eacces, eacces, Agrees},
		"a call, allowed and refused":    {call, allowed, done, eacces, Disagrees},
		"a call, refused":                {call, refused(unix.EACCES), exdev, eacces, Agrees},
		"a call, refused as it would be": {call, refused(unix.EACCES), eacces, eacces, Agrees},
		"a call, refused and done":       {call, refused(unix.EACCES), done, done, Disagrees},
	} {
		got := (&Plan{Isolation: "landlock"}).compare(&c.op, c.j, c.free, c.held)
		if got.Agreement != c.want || (got.Reason == "") != (c.want == Agrees) {
			t.Errorf("%s: %+v, want %v", name, got, c.want)
		}
	}
}

// A socket that nobody listens at tells nothing where Landlock would refuse it, and all where
// socket(2) would be refused.
func TestCompareOfADeadSocket(t *testing.T) {
	op, refused := Operation{Op: OpUnix, Path: "/srv/sock"}, Judgement{Verdict: Refused, Errno: unix.EACCES}
	for _, c := range []struct {
		elsewhere bool
		errno     unix.Errno
		want      Agreement
	}{
		{false, unix.ECONNREFUSED, Unverified},
		{false, unix.EPROTOTYPE, Unverified},
		{false, unix.EAGAIN, Disagrees}, // of one who listens, and has too much to do
		{false, 0, Disagrees},
		{false, unix.EACCES, Agrees},
		{true, unix.ECONNREFUSED, Disagrees},
	} {
		p := &Plan{Isolation: "landlock"}
		p.Landlock.ResolveUnixElsewhere = c.elsewhere
		held := Tried{Made: true, Errno: c.errno}
		if got := p.compare(&op, refused, held, held); got.Agreement != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestPassesFree(t *testing.T) {
	for name, c := range map[string]struct {
		op   Operation
		free Tried
		want string
	}{
		"done":              {Operation{Op: OpRead}, Tried{Made: true}, ""},
		"absent":            {Operation{Op: OpRead}, Tried{Made: true, Errno: unix.ENOENT}, "it fails without any confinement: ENOENT"},
		"an older kernel":   {Operation{Op: OpExec}, Tried{Made: true, Errno: unix.EINVAL}, "asking whether a file would be executed needs Linux 6.14"},
		"nobody's address":  {Operation{Op: OpBind}, Tried{Made: true, Errno: unix.EADDRNOTAVAIL}, ""},
		"a call that fails": {Operation{Op: OpSyscall}, Tried{Made: true, Errno: unix.EFAULT}, ""},
		"killed":            {Operation{Op: OpRead}, Tried{}, "it fails without any confinement: the caller is killed"},
	} {
		if got := passesFree(&c.op, c.free); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// bind(2) looks at the address before the privilege, so that a trial learns nothing of it.
func TestPrivilegedPortIsNotTried(t *testing.T) {
	for _, c := range []struct {
		own  bool
		port uint16
		said bool
	}{{true, 80, true}, {true, 1023, true}, {true, 1024, false}, {true, 0, false}, {false, 80, false}} {
		p := &Plan{OwnNetwork: c.own}
		if why := p.unknowable(&Operation{Op: OpBind, Port: c.port}); (why != "") != c.said {
			t.Errorf("%+v: %q", c, why)
		}
	}
}

func TestOfProcess(t *testing.T) {
	for path, want := range map[string]bool{
		"/proc/1": true, "/proc/17/environ": true, "/proc/self/status": true, "/proc/thread-self": true,
		"/proc": false, "/proc/": false, "/proc/version": false, "/proc/selfish": false, "/srv/proc/1": false, "": false,
	} {
		if got := ofProcess(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

// tried is one question to Verify in the world of a test.
type tried struct {
	op   Operation
	want Agreement
	why  string // a part of the reason
}

// In a granted folder and outside of it, plan and kernel agree, and a wrong judgement is
// found out; what cannot be tried without effect is said to be so; and nothing stays.
func TestVerify(t *testing.T) {
	needs.LandlockABI(t, 3)
	needs.Seccomp(t)
	for _, isolation := range []string{"landlock", "namespaces"} {
		t.Run(isolation, func(t *testing.T) {
			if isolation == "namespaces" {
				needs.Userns(t)
			}
			a := newAgreement(t, outsideTmp(t))
			w := a.w.root
			plan, f := a.plan(t, agreePolicy{
				{"sandbox", "isolation", fmt.Sprintf("%q", isolation)},
				{"filesystem", "write", fmt.Sprintf("%q", w+"/a")},
				{"filesystem", "read", fmt.Sprintf("%q", w+"/q/f")},
			})
			if plan == nil {
				t.Fatal("no plan")
			}
			defer f.Close()
			before := shape(t, w)
			judge := NewJudge(plan, f)
			for _, q := range questions(w) {
				if q.op.Op == OpUnix && isolation == "landlock" && policy.Below(q.op.Path, w+"/a") && f.Landlock.Used() >= landlock.ResolveUnix.ABI() {
					q.want, q.why = Unverified, "does not decide" // it could be the program's own
				}
				verifyOne(t, plan, f, judge, q)
			}
			if diff := cmp.Diff(before, shape(t, w)); diff != "" {
				t.Errorf("something stays (-before +after):\n%s", diff)
			}
		})
	}
}

func questions(w string) []tried {
	var list []tried
	for _, dir := range []string{w + "/a/b", w + "/x/y"} {
		for kind := KindRegular; kind <= KindFIFO; kind++ {
			list = append(list, tried{Operation{Op: OpCreate, Path: dir + "/new", Kind: kind}, Agrees, ""},
				tried{Operation{Op: OpRemove, Path: dir + "/f", Kind: kind}, Agrees, ""})
		}
		list = append(list,
			tried{Operation{Op: OpRead, Path: dir + "/f", Kind: KindRegular}, Agrees, ""},
			tried{Operation{Op: OpRead, Path: dir, Kind: KindFolder}, Agrees, ""},
			tried{Operation{Op: OpWrite, Path: dir + "/f", Kind: KindRegular}, Agrees, ""},
			tried{Operation{Op: OpTruncate, Path: dir + "/f", Kind: KindRegular}, Agrees, ""},
			tried{Operation{Op: OpLink, Path: dir + "/f", Kind: KindRegular, Dest: dir + "/g"}, Agrees, ""},
			tried{Operation{Op: OpRename, Path: dir + "/f", Kind: KindRegular, Dest: w + "/a/g"}, Agrees, ""},
			tried{Operation{Op: OpRename, Path: dir + "/f", Kind: KindRegular, Dest: dir + "/sp ace", Over: KindRegular}, Agrees, ""},
			tried{Operation{Op: OpRead, Path: dir + "/absent"}, Unverified, "ENOENT"},
			tried{Operation{Op: OpRead, Path: dir + "/fifo", Kind: KindFIFO}, Unverified, "other end"},
			tried{Operation{Op: OpTruncate, Path: dir + "/dir/none", Kind: KindRegular}, Agrees, ""},
			tried{Operation{Op: OpCreate, Path: dir + "/missing/none", Kind: KindRegular}, Unverified, "no such file"},
			tried{Operation{Op: OpUnix, Path: dir + "/sock", Kind: KindSocket}, Agrees, ""},
		)
	}
	return append(list,
		tried{Operation{Op: OpRemove, Path: w + "/q/f", Kind: KindRegular}, Unverified, "named by an entry"},
		tried{Operation{Op: OpRemove, Path: w + "/a", Kind: KindFolder}, Unverified, "named by an entry"},
		tried{Operation{Op: OpRead, Path: w + "/q/f", Kind: KindRegular}, Agrees, ""},
		tried{Operation{Op: OpWrite, Path: w + "/q/f", Kind: KindRegular}, Agrees, ""},
		tried{Operation{Op: OpWrite, Path: "/dev/null", Kind: KindChar}, Agrees, ""},
		tried{Operation{Op: OpRead, Path: "/dev/tty", Kind: KindChar}, Unverified, ""},
		tried{Operation{Op: OpCreate, Path: w + "/x/dev", Kind: KindChar}, Unverified, "no call"},
		tried{Operation{Op: OpBind, Port: 8080}, Agrees, ""},
		tried{Operation{Op: OpSyscall, Call: "io_uring_setup"}, Agrees, ""},
		tried{Operation{Op: OpSyscall, Call: "getpid"}, Agrees, ""},
		tried{Operation{Op: OpSyscall, Call: "exit_group"}, Unverified, "no call"},
	)
}

// verifyOne asks, and then asks again with the judgement turned round.
func verifyOne(t *testing.T, p *Plan, f *Facts, judge *Judge, q tried) {
	t.Helper()
	j := judge.Judge(q.op)
	if q.op.Op == OpUnix && j.Verdict == Undecided {
		q.want = Unverified // from ABI 9 on, of a socket that the program may have made
	}
	got, err := p.Verify(f, q.op, j)
	if err != nil {
		t.Errorf("%s: %v", showOperation(q.op), err)
		return
	}
	if got.Agreement != q.want || !strings.Contains(got.Reason, q.why) {
		t.Errorf("%s: %+v, judged %+v, want %v: %s", showOperation(q.op), got, j, q.want, q.why)
	}
	if got.Agreement != Agrees || q.op.Op != OpRead && q.op.Op != OpTruncate && q.op.Op != OpSyscall {
		return // TestCompare has the others
	}
	turned := Judgement{Verdict: Allowed}
	if j.Verdict == Allowed {
		turned.Verdict = Refused
	}
	if got, err = p.Verify(f, q.op, turned); err != nil || got.Agreement != Disagrees {
		t.Errorf("%s: turned round: %+v, %v", showOperation(q.op), got, err)
	}
}

// shape is what lies in a tree: names, kinds, inodes and what the files hold.
func shape(t *testing.T, root string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		err = errors.Join(err, unix.Lstat(path, &st))
		text := ""
		if st.Mode&unix.S_IFMT == unix.S_IFREG {
			b, rerr := os.ReadFile(path)
			text, err = string(b), errors.Join(err, rerr)
		}
		list = append(list, fmt.Sprintf("%s %o %d %d %q", path, st.Mode, st.Ino, st.Nlink, text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A plan that starts nothing, and one that has a home of a later run, cannot be tried.
func TestVerifyOfWhatDoesNotStart(t *testing.T) {
	needs.LandlockABI(t, 3)
	a := newAgreement(t, outsideTmp(t))
	plan, f := a.plan(t, agreePolicy{{"sandbox", "isolation", `"landlock"`}, {"sandbox", "home", `"keep"`}})
	if plan == nil {
		t.Fatal("no plan")
	}
	defer f.Close()
	op := Operation{Op: OpRead, Path: a.w.root + "/a/f", Kind: KindRegular}
	j := NewJudge(plan, f).Judge(op)
	got, err := plan.Verify(f, op, j)
	if err != nil || got.Agreement != Unverified || !strings.Contains(got.Reason, "first run") {
		t.Errorf("a home that is not made: %+v, %v", got, err)
	}
	if _, err := os.Lstat(f.Home.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the kept home was made: %v", err)
	}
	plan.Refusal = &Refusal{Status: StatusRefused, Message: "no"}
	if got, err = plan.Verify(f, op, j); err != nil || got.Agreement != Unverified || !strings.Contains(got.Reason, "nothing would start") {
		t.Errorf("a refused plan: %+v, %v", got, err)
	}
}
