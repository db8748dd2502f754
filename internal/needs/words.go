package needs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MustRun is the name of the environment variable that turns skips into
// failures.
const MustRun = "BRAINBOX_TEST_MUST_RUN"

const (
	wordLandlock     = "landlock"
	wordSeccomp      = "seccomp"
	wordKernel       = "kernel"
	wordNotify       = "notify"
	wordUserns       = "userns"
	wordNetns        = "netns"
	wordRoot         = "root"
	wordUser         = "user"
	wordSysResource  = "sys-resource"
	wordCgroupKill   = "cgroup-kill"
	wordCgroupMemory = "cgroup-memory"
	wordOverlay      = "overlay"
	wordCasefold     = "casefold"
	wordBtrfs        = "btrfs"
	wordExt4         = "ext4"
	wordXFS          = "xfs"
	wordVFAT         = "vfat"
	wordFUSE         = "fuse"
	wordTTY          = "tty"
	wordPrograms     = "programs"
	wordRegistry     = "registry"
)

// plainWords are the words without a number that are no tool.
func plainWords() []string {
	return []string{
		wordKernel, wordSeccomp, wordNotify, wordUserns, wordNetns, wordRoot, wordUser, wordSysResource,
		wordCgroupKill, wordCgroupMemory, wordOverlay, wordCasefold, wordBtrfs,
		wordExt4, wordXFS, wordVFAT, wordFUSE, wordTTY, wordPrograms, wordRegistry,
	}
}

// tools are the programs that have a word of their own.
func tools() []string {
	return []string{"bwrap", "git", "node", "npm", "cc", "cargo", "runc", "crun", "strace", "gdb"}
}

// demands is a parsed BRAINBOX_TEST_MUST_RUN.
type demands struct {
	abi   int // Landlock ABI up to which tests must run; 0 is none
	words []string
}

// parse reads the value of BRAINBOX_TEST_MUST_RUN. The empty value demands
// nothing. An unknown word, or a Landlock ABI that is no number above 0, is an
// error.
func parse(value string) (demands, error) {
	var d demands
	var errs []error
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }) {
		if number, ok := strings.CutPrefix(word, wordLandlock+":"); ok {
			abi, err := strconv.Atoi(number)
			if err != nil || abi < 1 {
				errs = append(errs, fmt.Errorf("needs: %s: %q has no ABI number", MustRun, word))
				continue
			}
			d.abi = max(d.abi, abi)
			continue
		}
		if !slices.Contains(plainWords(), word) && !slices.Contains(tools(), word) {
			errs = append(errs, fmt.Errorf("needs: %s: unknown word %q", MustRun, word))
			continue
		}
		d.words = append(d.words, word)
	}
	return d, errors.Join(errs...)
}

// has says whether word must run.
func (d demands) has(word string) bool {
	return slices.Contains(d.words, word)
}
