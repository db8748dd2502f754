// Package packaging has no code of its own: its tests hold what is installed, and what
// is said of the modules that are linked, to what is built.
//
//	go test ./internal/packaging           hack/install, in a temporary DESTDIR
//	go test ./internal/packaging -update   writes testdata/installed.txt
//
// # Limits
//
// The Debian package and reproducible builds take minutes and other programs: make deb
// and make reproducible check them themselves. The programs that no test here starts are
// stand-ins.
package packaging
