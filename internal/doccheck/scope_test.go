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
	}{{"W", 14}, {"C", 13}, {"K", 15}, {"P", 12}, {"H", 8}, {"E", 20}, {"PX", 8}, {"HM", 26}, {"FB", 23}, {"MN", 7}, {"RR", 10}, {"TT", 16}, {"WP", 22}, {"M", 50}, {"KL", 15}, {"BP", 6}, {"AU", 8}, {"AL", 11}, {"AR", 6}, {"AF", 15}, {"QA", 10}, {"CT", 20}} {
		number("bk/"+g.name, 1, g.to, "%d")
	}
	for _, g := range []struct { // the gate: tool permission
		name string
		to   int
	}{{"D", 20}, {"CP", 11}, {"Q", 5}, {"RQ", 25}, {"ED", 18}, {"T", 10}} {
		number("bk/"+g.name, 1, g.to, "%d")
	}
	number("bg/A", 1, 84, "%02d") // the bridge
	number("bg/B", 1, 30, "%02d") // delegation
	number("bg/C", 1, 80, "%02d") // the gate: write protection
	number("bg/D", 1, 58, "%02d") // rules and commands, prompts and events
	for _, g := range []struct {
		name string
		to   int
	}{{"FS", 41}, {"MD", 16}, {"DC", 22}, {"IN", 15}, {"PR", 27}, {"SC", 16}, {"NS", 24}, {"TT", 8}, {"TH", 21}, {"EV", 14}, {"LA", 19}, {"IP", 21}} {
		number("esc/"+g.name+"-", 1, g.to, "%02d")
	}
	number("esc/BR-", 1, 16, "%02d") // the bridge
	number("esc/NW-", 1, 19, "%02d") // the network, with and without the proxy
	number("esc/PX-", 1, 26, "%02d")
	number("esc/GT-", 1, 22, "%02d") // the gate
	return all
}

// declared says of an id what its tests do not say: that it is open in isolation
// landlock (its test then shows that it is), that it is not built, or that
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
		return "the program reaches no Unix socket but listed ones, and what those hand out is theirs: IP-03, IP-21"
	case "esc/IP-13":
		return "what a host's process connects to is its own affair; brainbox connects to nothing of the program's"
	case "esc/NS-13":
		return "not tested: the helpers are set-uid programs, and those run as who called them: NS-11"
	case "esc/TH-07":
		return "not held: a repository without a working tree that the run left; the host's git asks with safe.bareRepository=explicit"
	case "esc/TH-12", "esc/TH-13", "esc/TH-14", "esc/TH-19":
		return "not held: what a build on the host runs of the checkout is the run's to write, but for the protected names (TH-11); nothing lists it"
	case "esc/TH-18":
		return "not run here: no crontab, at or user manager; set-group-id programs run as who called them (NS-11), and their sockets are not reached (IP-06)"
	case "esc/TH-20":
		return "not held: links that the run left are not listed"
	case "esc/TH-21":
		return "not held: names are escaped where brainbox shows them; scripts of the host are theirs"
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
	case "bk/H6":
		return "not held: two arguments cannot name a turn, and any group of the identity can be hit (brainbox-kill(8), LIMITS)"
	case "bk/M47":
		return "not built: a worker has no relay to a model, and nothing leads out of it: M24, M46. A run reaches one by name: esc/PX-01"
	}
	return ""
}
