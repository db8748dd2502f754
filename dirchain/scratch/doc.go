// Package scratch keeps the repo scratch area: .brain/scratch beneath a root, where
// a host may put what a person asked for and nobody means to commit. It is not the
// worker's scratch, a tmpfs in which it may do as it likes (contract brainkit §0.3).
//
//	area := scratch.New(root, scratch.Options{Git: "/usr/bin/git"})
//	_, err := area.Write(ctx, ".brain/scratch/raft-mask.png", dirchain.WriteRequest{
//		Mode:    dirchain.CreateOrReplace,
//		Content: bytes.NewReader(png),
//	})
//	...
//	report, err := area.Prune(ctx)
//
// Before anything is written the area must be genuine, that is .brain and
// .brain/scratch are directories of the root's own and no links, and excluded: git
// itself says that it ignores the directory. There is no matcher of our own. The
// fixed git of the host is asked, with a fixed environment, and in such a way that
// nothing which the repository's configuration names is run; only its exit status 0
// is a yes. Where the root lies in no repository, an empty one is asked with the
// root as its work tree: what a later "git init" would say.
//
// A root inside a larger repository is that one's business: git finds it as it does
// for a person who stands in the root.
//
// # Limits
//
// The repository's configuration and the ignore files may be a program's to write,
// and so may the answer: git then ignores the area as much as it was told to.
// Neither runs anything, and a FIFO or a huge file in their place is a refusal after
// [Options.Timeout], or when git needs more than 1 GiB of memory.
//
// git opens what the repository's configuration includes or names, as the host's
// user: to open a device or a FIFO somewhere else can have effects there, though a
// program chose it that may not open it itself. A host with more rights than the
// repository's owner should not ask about a repository that it does not trust so far.
//
// A pass stops at 30 seconds, 524 288 entries, 64 MiB of paths to report, or directories
// more than 128 components deep, and says so (Truncated). Who may write in the area can
// make it stop before others' files.
//
// The ignore rules of the host's user ([core] excludesFile of the global
// configuration, $XDG_CONFIG_HOME/git/ignore) do not count: another user of the same
// checkout does not have them.
//
// git goes by the root's path, not by the held directory. That is compared before
// and after; who can exchange the root and put it back in between can have the
// question answered for another directory. The write itself is not affected.
//
// A repository of another user above the root is used only when it belongs to the
// root's owner or uid 0. This needs git 2.38 or later; older ones refuse.
//
// Ages are modification times, which whoever can write to a file can set, though not
// to a time after the last status change. Sizes are
// apparent ones, so a sparse file counts for more than it takes. What the answer was
// about may change after it: git is asked before each write, not after.
package scratch
