// Package userdb finds numeric ids in the text of /etc/passwd and /etc/group.
//
//	uid, gid, err := userdb.DB{Passwd: text}.User("agent")
//
// Every answer is a copied number, never a pointer into a buffer that the next
// lookup overwrites (contract brainkit H1).
//
// # Limits
//
// Only the two files are read: no NSS, LDAP or systemd source takes part, so
// that a set-uid or root program loads no foreign code and asks no service. A
// decimal number is always itself and is not looked up as a name.
package userdb
