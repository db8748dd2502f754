package main

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"brainbox/internal/vmjob"
)

// part is one package's tests, or some of them, as it is run by both users.
type part struct {
	name, pkg string
	run, skip string // patterns of tests
	env       []string
	cgroup    vmjob.Cgroup // of the ordinary user; root's is the root group, unless it is Own
	only      string       // "root" or "user"
	abi       int          // the least Landlock ABI of a kernel on which any of it could pass
	minutes   int
}

// parts are what every machine runs, whatever its kernel: what a kernel does not have is
// skipped with a reason, or has to be refused. They are what depends on the kernel most and
// takes an emulated processor minutes, not hours.
var parts = []part{
	{name: "landlock", pkg: "landlock", minutes: 20},
	{name: "launcher", pkg: "launcher", run: chosenOfLauncher, cgroup: vmjob.Left, minutes: 60},
	{name: "agree", pkg: "launcher", run: "^TestThePlanAndTheKernelAgree", only: "user", abi: 3, minutes: 60},
	{
		name: "integration-namespaces", pkg: "integration", run: chosen, cgroup: vmjob.Left, minutes: 60,
		env: []string{"BRAINBOX_TEST_ISOLATION=namespaces"},
	},
	{name: "integration-landlock", pkg: "integration", run: chosen, cgroup: vmjob.Left, minutes: 60},
	{name: "spawn", pkg: "internal/spawn", run: "^Test(Start|Descriptors|The|Cgroup|Listener|Try|NotOffered|Network|Mask|Bind|Devpts|Identity)", skip: "TheCallersEnd", cgroup: vmjob.Left, abi: 1, minutes: 30},
	{name: "supervise", pkg: "internal/supervise", run: "^TestTheTree", cgroup: vmjob.Left, abi: 1, minutes: 20},
	{name: "seccomp", pkg: "seccomp", run: "^Test(SetID|Keeps|Threads|FilterStatus|Foreign|Datagram|FastOpen|SoleListener)", minutes: 20},
	{name: "setuid-start", pkg: "internal/setuid", minutes: 10},
	{name: "setuid-early", pkg: "internal/setuid/early", minutes: 10},
	{name: "setuid-kill", pkg: "cmd/brainbox-kill", minutes: 30},
	{name: "setuid-exec", pkg: "cmd/brainbox-exec", only: "root", abi: 3, minutes: 60},
}

// chosen are the tests of package integration that are about the kernel: starts and refused
// starts, the escape matrix, the attacks on the supervisor, the limits, and what is left.
const chosen = "^Test(Matrix|Child|Rejected|Limits|OutOfMemory|PrivateFolders|RefusedStarts|WorkingDirectory|SameConfinement|" +
	"ExitStatus|TreeEnds|NothingIsLeft|Nested$|StatusTells|Missing|OpenList|NetworkPorts|AgentSocket|HardLink|DeviceGrant)"

// chosenOfLauncher are those of package launcher.
const chosenOfLauncher = "^Test(StartsAreWhat|TheGroup|TheOwnGroup|Cgroup|MakeCgroup|OomKilled|Applied|HostRuns|" +
	"Verify$|ReferenceMachine|TheProgramReaches|PublishedPorts|HostConnects|SelfTest|AutoIs)"

// plan makes the jobs of a machine. must are the words of BRAINBOX_TEST_MUST_RUN for its
// kernel.
func plan(only, must string) []vmjob.Job {
	var jobs []vmjob.Job
	for _, root := range []bool{false, true} {
		who := "user"
		if root {
			who = "root"
		}
		jobs = append(jobs, vmjob.Job{
			Name: "probe-" + who, Root: root, Dir: "/", Args: []string{vmjob.Payload + "/bin/brainbox", "probe", "--json"},
			Cgroup: groupFor(part{cgroup: vmjob.Own}, root), Seconds: 120,
		})
		if chosenBy(only, "start") {
			jobs = append(jobs, startJobs(root, who)...)
		}
		if chosenBy(only, "limit") {
			jobs = append(jobs, limitJobs(root, who)...)
		}
		for _, p := range parts {
			if p.only != "" && p.only != who || p.abi > landlockOf(must) || !chosenBy(only, p.name) {
				continue
			}
			jobs = append(jobs, p.job(root, who, must))
		}
	}
	return jobs
}

// chosenBy reports whether -only has a part, by its name or by the first word of it. Limits are
// judged by the starts.
func chosenBy(only, name string) bool {
	word, _, _ := strings.Cut(name, "-")
	return only == "" || slices.ContainsFunc(strings.Split(only, ","), func(s string) bool {
		return s == name || s == word || s == "limit" && name == "start"
	})
}

// landlockOf is the Landlock ABI that the words ask for; 0 is none.
func landlockOf(must string) int {
	_, text, _ := strings.Cut(must, "landlock:")
	n, _ := strconv.Atoi(text) // 0 of what is no number
	return n
}

func (p part) job(root bool, who, must string) vmjob.Job {
	args := []string{
		vmjob.Payload + "/tests/" + testFile(p.pkg), "-test.v=test2json", "-test.short", "-test.count=1",
		"-test.parallel=2", "-test.timeout=0",
	}
	if p.run != "" {
		args = append(args, "-test.run="+p.run)
	}
	if p.skip != "" {
		args = append(args, "-test.skip="+p.skip)
	}
	if root {
		must += ",sys-resource" // the machine's root has every capability
	}
	env := append([]string{
		"BRAINBOX_TEST_BIN=" + vmjob.Payload + "/bin", "BRAINBOX_TEST_HOST=" + vmjob.Payload + "/bin",
		"BRAINBOX_TEST_MUST_RUN=" + strings.TrimPrefix(must+","+who, ","),
	}, p.env...)
	return vmjob.Job{
		Name: p.name + "-" + who, Root: root, Dir: path.Join(vmjob.Payload, "src", p.pkg), Args: args, Env: env,
		Cgroup: groupFor(p, root), Seconds: 60 * p.minutes,
	}
}

func groupFor(p part, root bool) vmjob.Cgroup {
	if root && p.cgroup != vmjob.Own {
		return vmjob.Root
	}
	return p.cgroup
}

// packageOf is the package whose tests a job runs.
func packageOf(j vmjob.Job) (string, bool) {
	return strings.CutPrefix(j.Dir, vmjob.Payload+"/src/")
}

// testFile is the name of a package's test binary.
func testFile(pkg string) string { return strings.ReplaceAll(pkg, "/", "-") + ".test" }
