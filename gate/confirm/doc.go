// Package confirm has the expressions over a shell command that ask before one use.
//
//	patterns, err := confirm.Compile(confirm.Config{More: more}, func(i confirm.Issue) { log.Warn(i.String()) })
//	...
//	if p, ok := patterns.First(command); ok {
//		ask(p.Effect())
//	}
//
// A pattern is matched without regard to case, anywhere in the whole command, as the
// model wrote it; nothing is parsed or guessed (contract brainkit §3.2).
//
// # Dialect
//
// Sources are in RE2 syntax (package regexp/syntax). They come from configurations that
// were written for another engine, so what RE2 refuses is reported with a hint, and what
// both take but read differently is refused too: \A, \z, \a, \Q, \C, \p, \P, \x{…},
// [[:alpha:]], and a class that begins with ]. [Config.RE2] takes them as RE2 reads them.
// Accepted although RE2 matches more or less than the other engine: a dot also matches CR,
// U+2028 and U+2029; \s is ASCII without VT; ſ and the Kelvin sign fold to s and k.
//
// # Limits
//
// It is a seatbelt against accidents, not containment: sh -c with a text that was put
// together, a here document or a script passes. What a program can do is the kernel's to
// say.
package confirm
