// Package envfilter decides which environment variables an untrusted program
// gets: environ in, environ out.
//
// [Filter] is the subprocess filter of a backend: a table says which audience
// gets which name, an operator may add names, a short list is never handed on.
//
//	extras := envfilter.ParseExtra(os.Getenv("BRAIN_UI_SUBPROCESS_ENV_EXTRA"))
//	res := envfilter.Filter(os.Environ(), envfilter.Agent, table, extras, envfilter.Wrapped)
//	cmd.Env = res.Env // log res.Warnings: names, never values
//
// [Build] makes the environment of "brainbox run" and [Explain] says of one name
// why it is in it or not, from the same decision:
//
//	env, notes, err := envfilter.Build(envfilter.Input{
//		Caller: os.Environ(), Allow: envfilter.DefaultAllow(),
//		User: "u", Home: home, Tmp: tmp, PathOK: granted,
//	})
//
// The package makes no system call. What depends on a file is asked through a
// function of the caller.
//
// # Limits
//
// A credential that the program needs is one env(1) away from everything the
// program runs: the filter protects what only the host needs, it does not hide
// the program's own capabilities.
//
// Values are opaque. They are not trimmed, expanded, checked to be UTF-8 or
// searched for secrets, except by [Scrub] and for exactly the secrets it is
// given. [LooksSecret] is a hint, never a decision. The size of the environment
// as a whole is left to execve(2).
package envfilter
