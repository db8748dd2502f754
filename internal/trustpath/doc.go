// Package trustpath opens an absolute path component by component, through held
// descriptors, and refuses when somebody who is not trusted could change what
// the path names.
//
//	rule := trustpath.Rule{Owners: []uint32{0}, AnyGroup: true}
//	text, err := trustpath.ReadFile("/etc/brainbox/exec.toml", rule, 1<<20)
//
// Every directory on the way is judged, those behind symbolic links included:
// a file is only as safe as the directory that can give its name to another
// (contract brainkit §1.2, "extra startup check").
//
// # Limits
//
// Read-only mounts, file attributes and Landlock domains of the other party are
// not considered: they can only take away what the mode already allows. A
// sticky directory counts as writable. An access control list is not evaluated:
// where one is present beside a group write bit, the component is refused.
package trustpath
