// Package namescan finds, by their names alone, what a program must not be left alone
// with in a tree: repositories, sockets, and names that a caller lists.
//
//	res, err := namescan.Scan(fd, namescan.Options{Names: []string{".envrc", ".config/git"}})
//	for _, git := range res.Git {
//		fmt.Println(git.Path, git.Kind) // "vendor/sub/.git" folder
//	}
//
// The tree is read breadth first with getdents64(2) and nothing else: no entry is looked
// at, no link is followed and no mount point is entered. Every folder is opened beneath the
// one that the caller holds (openat2(2), Linux 5.6; where an outer filter refuses it, one
// component after the other), so that a tree that changes meanwhile cannot lead out of it.
//
// # Limits
//
// What a file system without entry types (d_type) holds is looked at with fstatat(2) all the
// same: nothing else can tell a socket there. Folders named .git are reported and not
// entered. A path of more than 4095 bytes cannot be opened and is reported as unread. What
// is created while the tree is read may be missed.
package namescan
