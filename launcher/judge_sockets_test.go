package launcher

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A socket that the filter refuses is told with what opens its family.
func TestJudgeSocketCalls(t *testing.T) {
	for text, list := range map[string][]judged{
		"": {
			{Operation{Call: "socket(AF_UNIX)"}, "refused -  EPERM by seccomp => --unix PATH"},
			{Operation{Call: "socket(AF_UNIX, SOCK_DGRAM)"}, "refused -  EPERM by seccomp => --isolation namespaces"},
			{Operation{Call: "socketpair(AF_UNIX)"}, "allowed"},
			{Operation{Call: "socket(AF_INET)"}, "refused -  EPERM by seccomp => --net ports --connect-tcp PORT"},
			{Operation{Call: "socket(AF_INET6, SOCK_DGRAM)"}, "refused -  EPERM by seccomp => --isolation namespaces --net proxy --allow-host NAME"},
			{Operation{Call: "socket(AF_NETLINK, SOCK_RAW)"}, "refused -  EPERM by seccomp => --net host"},
			{Operation{Call: "socket(AF_ALG, SOCK_SEQPACKET)"}, "refused -  EAFNOSUPPORT by seccomp => --seccomp FILE"},
			{Operation{Call: "socket(AF_PACKET, SOCK_RAW)"}, "refused -  EAFNOSUPPORT by seccomp => --seccomp FILE"},
			{Operation{Call: "socket(99)"}, "refused -  ENOSYS by seccomp => --seccomp FILE"},
			{Operation{Call: "socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP)"}, "refused -  EPERM by seccomp"},
			{Operation{Call: "socket(AF_NONE)"}, "undecided"},
			{Operation{Call: "socket"}, "undecided"},
			{Operation{Call: "ptrace"}, "refused -  EPERM by seccomp => --profile debug"},
			{Operation{Call: "bpf"}, "refused -  EPERM by seccomp => --seccomp FILE"},
		},
		"[network]\nmode = \"ports\"\nconnect_tcp = [443]\n": {
			{Operation{Call: "socket(AF_INET)"}, "allowed"},
			{Operation{Call: "socket(AF_INET, SOCK_DGRAM)"}, "refused -  EPERM by seccomp => --dns host"},
		},
		"[network]\nmode = \"host\"\n": {
			{Operation{Call: "socket(AF_INET, SOCK_DGRAM)"}, "allowed"},
			{Operation{Call: "socket(AF_NETLINK, SOCK_RAW)"}, "allowed"},
		},
		"[process]\nseccomp = \"debug\"\n": {{Operation{Call: "ptrace"}, "allowed"}},
		"[process]\nseccomp = \"none\"\n":  {{Operation{Call: "socket(AF_ALG)"}, "allowed"}},
	} {
		w := world{host: host{abi: 7, uid: 1000}, tree: judgeTree()}
		f := w.facts(resolve(t, text))
		f.Inside = nil
		p := newPlan(resolve(t, text), f, false)
		j := NewJudge(p, f)
		for _, c := range list {
			c.op.Op = OpSyscall
			g := j.Judge(c.op)
			if got := g.show(); got != c.want || strings.Contains(g.Reason, "depends") != (c.op.Call == "socket") {
				t.Errorf("%q %s:\n got %s: %s\nwant %s", text, c.op.Call, got, g.Reason, c.want)
			}
		}
	}
}

// What a call is named by is what it is judged by.
func TestSocketCallReadsBack(t *testing.T) {
	for want, args := range map[string][6]uint64{
		"socket(AF_UNIX)":                             {unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC},
		"socket(AF_UNIX, SOCK_DGRAM)":                 {unix.AF_UNIX, unix.SOCK_DGRAM, 1},
		"socket(AF_INET)":                             {unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_NONBLOCK, unix.IPPROTO_TCP},
		"socket(AF_INET6, SOCK_DGRAM)":                {unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDP},
		"socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP)":   {unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP},
		"socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP)": {unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP},
		"socket(AF_NETLINK, SOCK_RAW, 15)":            {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT},
		"socket(99, 77, 3)":                           {99, 77, 3},
		"socket(-1)":                                  {0xffffffff, unix.SOCK_STREAM},
	} {
		text := SocketCall("socket", args)
		s, ok := parseSocketCall(text)
		if text != want || !ok || SocketCall(s.name, [6]uint64{uint64(s.family), uint64(s.kind), uint64(s.protocol)}) != text {
			t.Errorf("%v: %q, want %q; read as %+v, %v", args, text, want, s, ok)
		}
	}
	for _, bad := range []string{"", "socket", "socket()", "socket(AF_UNIX", "connect(AF_UNIX)", "socket(AF_INET, SOCK_STREAM, 6, 1)", "socket(x)"} {
		if s, ok := parseSocketCall(bad); ok {
			t.Errorf("%q read as %+v", bad, s)
		}
	}
}

// No grant in /proc is suggested that the plan would refuse, or that is of one run's process.
func TestJudgeProc(t *testing.T) {
	w := world{host: host{abi: 7, uid: 1000}, tree: append(judgeTree(), "/proc/sys/vm/x", "/proc/12/oom_score_adj")}
	outside := w.facts(resolve(t, judgePolicy))
	outside.Inside = nil
	within, f := insidePlan(t, w, judgePolicy)
	for _, c := range []struct {
		op              Operation
		outside, within string
	}{
		{Operation{Op: OpWrite, Path: "/proc/sys/vm/x", Kind: KindRegular}, "--rw /proc/sys/vm/x (it changes the whole host's kernel)", " (the program's own /proc is read-only)"},
		{
			Operation{Op: OpWrite, Path: "/proc/12/oom_score_adj", Kind: KindRegular},
			" (it belongs to one process, whose number is another one the next time)", " (the program's own /proc is read-only)",
		},
		{Operation{Op: OpWrite, Path: "/srv/r/f", Kind: KindRegular}, "--rw /srv/r/f ()", "--rw /srv/r/f ()"},
	} {
		for _, at := range []struct {
			j    *Judge
			want string
		}{{NewJudge(newPlan(resolve(t, judgePolicy), outside, false), outside), c.outside}, {NewJudge(within, f), c.within}} {
			g := at.j.Judge(c.op)
			if got := g.Remedy.Flag + " (" + g.Remedy.Note + ")"; g.Verdict != Refused || got != at.want {
				t.Errorf("%+v: %s: got %q, want %q", c.op, g.show(), got, at.want)
			}
		}
	}
}
