// Package learn drafts a policy from what a program was seen to do.
//
//	r := &learn.Recorder{Name: nameOf} // an explain.Sink
//	... the program runs, watched ...
//	d := learn.New(learn.Input{Uses: r.Uses(), Place: vars, Secrets: secrets, Bases: bases})
//	text := d.TOML() // what brainbox run --policy takes
//
// [Open] lists what a program may read and execute while it is learned from: what is
// installed, what everybody may read of /etc, and what the home folder shows, beside the places
// of secrets, one entry each, because Landlock only adds rights.
//
// Deciding is pure: what was seen, where the caller stands and what the base policies grant
// come in, a text comes out, and the same input gives the same text.
//
// # What a draft grants
//
// What the program did and the base does not grant, one line each, and instead of single
// files their folder: for names that look temporary, for the folder of a version
// (/opt/tool-1.2), for caches, for eight files or more of one folder, and for a folder of
// programs that PATH names. A file that is made, removed or renamed needs its folder; what
// moves between two folders needs the one around both. A draft never opens the root of the
// file system, the home folder, a folder around either, or a place of secrets or a folder
// around one. What was refused stands beside the lines as comments.
//
// # Limits
//
// A secret in a folder of the home without a dot at its beginning (~/notes) is open while a
// program is learned from, if the list of secrets does not name it, and so is a hard link to
// one in such a folder. A policy is learned from one run: what the program does on another day is not in it. A name
// is seen where it leads: in isolation namespaces a link in a folder that is granted nothing
// does not exist for the program, and a draft does not bring it back. Names of variables that
// a program asks for, and what it only looks up (stat, access) cannot be seen. Names of hosts
// are taken from the flags as they are. A path that a policy cannot spell, one that is not
// UTF-8 or has a control character, is granted by its folder, or told as a comment.
package learn
