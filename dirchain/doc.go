// Package dirchain performs file effects on behalf of a program that may not
// perform them itself, through directory descriptors that were opened once.
//
//	root, err := dirchain.OpenRoot("/srv/checkout", dirchain.Options{Protect: []string{".git"}})
//	...
//	defer root.Close()
//	got, err := root.Write(ctx, "src/main.go", dirchain.WriteRequest{
//		Mode:    dirchain.Replace,
//		Base:    &base, // what the caller has read
//		Content: bytes.NewReader(text),
//	})
//
// A [Root] is one directory, remembered by device, inode and mount. Every path
// given to it is relative, is checked by [SplitPath] before the first system
// call, and is walked one component at a time beneath the root: no symbolic
// link, no magic link, no mount point and no ".." is followed, whoever exchanges
// what meanwhile. Every directory of the walk stays open until a change is done,
// and what is visible under the same names is compared with what is held before and
// after it; a read holds the file, and looks at the root. What is not a regular file
// is not opened; one that takes a regular file's place between the look at it and
// the opening is, without waiting for anything, and is closed again unread.
//
// A file is replaced by renaming a complete new one over it, so a crash at any
// point leaves the old file or the new one. Errors are [*Error]; what they mean
// is one of the sentinels of this package or of io/fs.
//
// # Concurrency
//
// A Root may be used by any number of goroutines, and a directory by any number of
// processes. Two writes to the same file with a base hash: exactly one succeeds,
// the other is [ErrStale]. Without a base the last one wins. While a file takes
// its name its directory is locked (flock(2)); a program that may open the
// directory and holds that lock for more than a second makes writes [ErrBusy].
//
// # Limits
//
// The file system is the arbiter between processes: a program that may write to
// the root's files itself, outside this package, can still change them between
// the last look and the effect; it cannot make the effect land anywhere else. A
// file that it puts there in that moment is given its name again, and the write
// fails. When something else has the name by then, the displaced file is kept beside it,
// and the error says so.
//
// What another mount namespace has mounted on a file or directory, to hide it in a
// sandbox, is gone there when that is replaced or removed (mount_namespaces(7)): an
// append would then show the whole of a hidden file. Options.Protect must name what
// is hidden.
//
// Mode and POSIX access list of a replaced file are taken over, and its owner
// where the caller may give it away. Extended attributes, file flags and the
// birth time are not.
//
// After a crash of this process, or of the machine, a file named
// ".brainbox-<16 hex digits>.tmp" may be left beside the target: of a write (each
// of a batch) the new or the old one, of a removal or a rename the entry itself,
// beside its old or its new name.
//
// Removing and renaming give the entry such a name for a moment, so that exactly
// what was judged goes: others may find neither name then. A directory is moved or
// removed with what is in it. Protected paths in it are known by their names; a file
// in it that is another name of a protected one is found by [Root.RemoveTree], which
// looks at everything, and not by [Root.Rename], which moves that name alone.
//
// The walk needs read and search permission on every directory beneath the root.
// Writing is refused on file systems whose names and inode numbers are not known to
// identify a file ([ErrFilesystem]): on all but ext4 (ext2, ext3), xfs, btrfs, tmpfs
// and overlay, and on these where a directory folds upper and lower case. Linux 4.7
// or later; openat2(2) (Linux 5.6) and statx(2) with mount ids (Linux 5.8) are used
// where they are to be had, and replaced by calls of the same strength, never by a
// plain path.
package dirchain
