// Package lint judges an OCI seccomp profile: what in it cannot be loaded, what opens a
// way out, what is weaker than the default filter, and what breaks programs.
//
//	report := lint.Lint(text, env) // env: the compilers and the default filter
//	for _, f := range report.Findings {
//		fmt.Println(f.Place, f.Severity, f.Rule, f.Message)
//	}
//
// Lint is a pure function of the text and of what env answers. It reads the form of the
// OCI runtime specification and docker's own, in which rules have conditions; the latter
// is judged as for a container without capabilities. What a call is met with is asked of
// the compiled program by package seccomp's emulator, for all kinds of arguments that
// the program tells apart, and not of the names in the text.
//
// The program is what brainbox would load. If brainbox refuses the profile it is what a
// container runtime would load, so that the rest is judged too. [Rules] lists all rules.
//
// # Limits
//
// A profile is judged alone: what Landlock, namespaces or the lack of capabilities stop
// anyway is told all the same. Places are those of the first rule that lets a call run or
// refuses it. A call with more than 65536 kinds of arguments, 262144 where two filters are
// compared, is tried with as many drawn ones; the report names it. Only the architecture that the program was built for is
// judged by name; of the others is told whether any call of them runs.
package lint
