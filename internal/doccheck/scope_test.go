package doccheck

import "fmt"

// scope lists the ids that this version answers for, in the order of the page.
func scope() []string {
	var all []string
	number := func(prefix string, from, to int, format string) {
		for i := from; i <= to; i++ {
			all = append(all, prefix+fmt.Sprintf(format, i))
		}
	}
	for _, g := range []struct {
		name string
		to   int
	}{{"W", 14}, {"C", 13}, {"K", 15}, {"P", 12}, {"E", 20}, {"PX", 8}, {"HM", 26}, {"FB", 23}, {"MN", 7}, {"RR", 10}, {"TT", 16}} {
		number("bk/"+g.name, 1, g.to, "%d")
	}
	number("bg/A", 7, 26, "%02d")
	all = append(all, "bg/A39", "bg/A70", "bg/A74", "bg/A75")
	for _, g := range []struct {
		name string
		to   int
	}{{"FS", 41}, {"MD", 16}, {"DC", 22}, {"IN", 15}, {"PR", 27}, {"SC", 16}, {"TT", 8}, {"EV", 14}, {"LA", 19}} {
		number("esc/"+g.name+"-", 1, g.to, "%02d")
	}
	return append(all, "esc/IP-21")
}

const forNotify = "later version: user notification"

// declared says of an id what its tests do not say: that it is open in isolation
// landlock (its test then shows that it is), that it belongs to a later version, or that
// it is not tested, and why.
func declared(id string) string {
	switch id {
	case "esc/MD-01", "esc/MD-02", "esc/MD-03", "esc/MD-09", "esc/MD-10", "esc/MD-11", "esc/MD-12":
		return "open: metadata"
	case "esc/MD-16", "esc/PR-05", "esc/PR-12":
		return "open: processes"
	case "esc/FS-34", "esc/FS-35":
		return "open: protect"
	case "esc/FS-38":
		return "open: shared_memory"
	case "esc/PR-15":
		return "open: tree"
	case "esc/FS-02":
		return "the working directory is set by the start"
	case "esc/FS-21":
		return "open: files (`check --tree` lists it)"
	case "esc/FS-28", "esc/FS-29":
		return "no-exec is no boundary: the program runs, as confined as before"
	case "esc/FS-41":
		return "io_uring is refused as a whole: SC-05"
	case "esc/IN-07":
		return "the program has no Unix socket by path to receive one from: IP-03, IP-21"
	case "esc/PR-18", "esc/PR-19", "esc/PR-22":
		return "not run here: needs a delegated cgroup v2 controller or a quota; without one the start is refused"
	case "esc/SC-10", "esc/SC-11", "esc/SC-12", "esc/SC-13", "esc/SC-16":
		return forNotify
	case "esc/SC-14":
		return "no filter answers with TRAP"
	case "esc/SC-07":
		return "`seccomp/compile/plan_test.go` `TestPlanRefuses`, `launcher/helper_test.go` `TestReadCompiledRefuses`"
	case "esc/LA-06":
		return "opened once, both spellings shown: `launcher/plan_golden_test.go` `TestPlanIsGolden`"
	case "esc/LA-11":
		return "`internal/spawn/spawn_test.go` `TestSelfTestCatchesWhatIsNotRefused`"
	case "esc/LA-19":
		return "`integration/inherit_test.go` `TestInheritedState`, `seccomp/effects_linux_test.go` `TestFilterStatus`"
	case "bg/A19":
		return "later version: bridge"
	}
	return ""
}
