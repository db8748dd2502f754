// Package protect judges whether a write lands where a host tool would later run
// something: in a repository's hooks, a shell's start file, an editor's tasks.
//
//	judge, mounted, err := protect.Compile(seat, protect.Options{Env: protect.Tree{Root: root}})
//	...
//	g, mine, err := judge.Check(ctx, protect.Call{Aims: aims, Cwd: cwd})
//	...
//	defer g.Close()
//	if d, ok := g.Verdict.Decide("write_file"); ok {
//		...
//	}
//
// A table of literal rows is compared with the path as it is spelled, with what the links
// of its last name lead to, and with where it really leads (contract bridge-and-gate §C).
// A hit asks, whatever a standing rule allows; it never denies by itself. The place that
// was judged stays held ([Held]), and dirchain refuses to write anywhere else.
//
// # Limits
//
// It is one explicit look, not containment: a row only asks, and only calls that declare
// what they write are judged. What no row may touch is given to the kernel. Rows have no
// wildcards, no home and no exceptions. Names are compared after a fold that is narrow on
// purpose: letters of other scripts that look alike are other letters. What Windows takes
// for the same name (a stream, a trailing dot, a short name) is not: on a file system that
// is shared with it the table must be replaced.
//
// A file is protected by the names that lead to it, not by itself: a second hard link, and
// what a protected name is a link to, are written under their own names without a question.
// Clear without a place that is held (the environment could not answer) is by the spelling
// alone; whoever writes must hold a place, or not write.
//
// A path is cleaned as text before it is looked up, as [dirchain.Root.Resolve] does: the
// write must go to the held place, never to the path again.
package protect
