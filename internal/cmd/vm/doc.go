// Command vm runs brainbox's tests on Debian's kernels, each in a virtual machine of qemu's:
//
//	go run ./internal/cmd/vm -out docs/evidence/vm bullseye bookworm trixie-backports
//
// For each suite it downloads the newest kernel, and for all of them one set of programs, with
// a private root of apt's: packages are verified by Debian's keyring, nothing is installed, and
// the mirror is the one that this machine's own apt uses. The programs become the image of a
// root file system; kernel, modules and image stay in the user's cache folder, by version.
// The module's own static programs and test binaries are built anew and become a second image.
// The first process of the machine is internal/cmd/vminit, which runs the jobs (package
// brainbox/internal/vmjob) and writes what they print to a third disk.
//
// A machine passes if every job has a result, every test binary passed at least one test and
// failed none, and every start either started the program or was refused with a clause's name,
// for both users alike. A machine that dies, or says nothing, has failed.
//
// With -out the log of each machine and a record of what it was found to do are written:
// SUITE-ARCH.txt and SUITE-ARCH.json. Package launcher's tests hold docs/kernel-features.md to
// the records. A run of some PARTS (-only) writes PARTS-SUITE-ARCH.txt, and no record.
//
// # Limits
//
// brainbox-seccomp is built with cgo: for another architecture than this machine's $CC has to be a
// compiler for it that finds libseccomp. It needs apt-get, dpkg-deb, mkfs.ext4, xz and qemu (hack/vm installs them) and, unless it is
// root, fakeroot, or the files in the guest would not be root's. Without KVM every instruction
// is emulated: a machine takes five minutes, and more where other programs run. The guest has no systemd, no udev, no AppArmor
// policy and no network but the loopback interface.
package main
