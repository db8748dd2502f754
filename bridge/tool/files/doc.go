// Package files has the mediated tools that work on files: read_file, grep, write_file,
// edit_file, apply_staged, mkdir, rename, remove, and the write of whole files in pieces,
// fs.write (contract brainkit §8, bridge-and-gate §E.6).
//
//	roots, err := files.NewRoots(files.Root{Name: "work", Dir: dir, Deny: files.RepositoryDeny, Allow: files.RepositoryAllow})
//	...
//	defer roots.Close()
//	judge, _, err := protect.Compile(seat, protect.Options{Env: roots})
//	g, err := gate.New(gate.Config{Judge: judge, Resolver: roots.Places(), …})
//	roots.SetRules(g, agent)
//	for _, t := range files.Tools(roots) {
//		...
//	}
//
// A path is relative to a root that has a name. Reads take it as text, so that ".." may
// stay inside, and follow links inside the root to the place that the gate holds; writes
// take no "..", follow no link, and go to the held place or nowhere: without one every
// call is refused. Nothing is started: no grep and no git runs on the host.
//
// Refusals have the codes of contract brainkit §4.1, and these: not_found, exists,
// not_empty, match_failed (the old text of an edit), encoding_invalid (text that is none),
// pattern_invalid, limit_reached, busy, chunk_order and overloaded.
//
// # Limits
//
// A file with several names is not read and not replaced: one of them may lie outside.
//
// What is hidden is known by its names, and by the identity of what was there when the
// roots were made: a hidden file that came later, and was then moved under another name by
// a program that may do so, is read under that name. Options.Protect of a root must name
// what is hidden and denied, so that changes know it by identity too.
//
// Without a place that the gate holds, nothing is done: a gate whose judge is switched off
// allows no call of these tools. Mediated paths have no control characters and no
// backslash; files with such names are not reached, and counted by grep.
//
// grep looks at one file at a time and not at a snapshot of the tree. It reads at most 8
// MiB of a file and 256 MiB in all, in at most ten seconds, and says what it left out. Four
// searches run at the same time, others wait. A pattern whose repetitions make it longer than
// about 10,000 instructions is refused.
//
// The gate decides about the folder that a call names. What the rules say of the files in it
// is asked with [Roots.SetRules], entry by entry, some 100 µs each; without, folders are not
// searched, renamed, or removed with their contents. It is asked by name, and before the effect: what a program moves into the
// folder meanwhile is not seen.
//
// The gate refuses calls of more than 1 MiB, which nobody could be shown: the longest
// content of one call is that less the rest of it. What is longer comes in pieces.
//
// A rename with a base hashes the file before it is moved: a program that writes into the
// open file between the two is not noticed, one that replaces it is.
package files
