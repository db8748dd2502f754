package mask

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"brainbox/dirchain"
	"brainbox/dirchain/scratch"
	"brainbox/internal/needs"
)

const (
	ignoreRule = ScratchDir + "/\n"
	oldFile    = ScratchDir + "/a/old.txt" // beside the image, and older than the area keeps files
)

// checkout makes one of git's of a repository, and gives its scratch area.
func checkout(t *testing.T, root *dirchain.Root, rules string, opts scratch.Options) ScratchArea {
	t.Helper()
	dir := root.Path()
	opts.Git, opts.Temp = needs.Tool(t, "git"), t.TempDir()
	cmd := exec.CommandContext(t.Context(), opts.Git, "init", "-q")
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	write(t, dir+"/.gitignore", rules)
	write(t, dir+"/"+oldFile, "old")
	past := time.Now().Add(-scratch.DefaultTTL - time.Hour)
	try(t, os.Chtimes(dir+"/"+oldFile, past, past))
	return Scratch(scratch.New(root, opts))
}

// writers are the two ways to write a mask in the scratch area of a git checkout.
func writers(t *testing.T, rules string, opts scratch.Options) map[string]func(image, mask string) (Result, string) {
	return map[string]func(image, mask string) (Result, string){
		"hosted": func(image, mask string) (Result, string) {
			h := newHost(t, dirchain.Options{SkipSync: true})
			h.Scratch = checkout(t, h.Root, rules, opts)
			return h.Apply(t.Context(), caller(), h.base(t, image), Request{image, mask, picture("mask")}), h.dir
		},
		"fallback": func(_, mask string) (Result, string) {
			f := newField(t, dirchain.Options{SkipSync: true})
			f.Scratch = checkout(t, f.Root, rules, opts)
			return f.Write(t.Context(), mask, picture("mask")), f.dir
		},
	}
}

// TestScratchOfGit: the real area of a real checkout.
func TestScratchOfGit(t *testing.T) {
	const image, mask = ScratchDir + "/a/s.png", ScratchDir + "/a/s-mask.png"
	for how, write := range writers(t, "", scratch.Options{}) {
		res, dir := write(image, mask)
		if res.OK || res.Code != ApplicationFailed || !strings.Contains(res.Message, scratch.Fix) || len(res.Changes) != 0 {
			t.Errorf("%s, not ignored: %+v", how, res)
		}
		if got := entries(t, dir+"/"+ScratchDir+"/a"); got != "old.txt s.png" {
			t.Errorf("%s, not ignored: %s", how, got)
		}
	}
	for how, write := range writers(t, ignoreRule, scratch.Options{}) {
		res, dir := write(image, mask)
		sum := dirchain.Sum(picture("mask"))
		if !res.OK || res.Outcome != "" || len(res.Changes) != 2 || res.Changes[0].Path != mask || *res.Changes[0].SHA256 != sum ||
			res.Changes[1] != (Change{Path: oldFile}) {
			t.Errorf("bk/HM20 %s: %+v", how, res)
		}
		if got := entries(t, dir+"/"+ScratchDir+"/a"); got != "s-mask.png s.png" || read(t, dir+"/"+mask) != string(picture("mask")) {
			t.Errorf("bk/HM20 %s: %s", how, got)
		}
	}
	const nested = ScratchDir + "/b/c/d/x-mask.png"
	res, dir := writers(t, ignoreRule, scratch.Options{})["fallback"]("", nested)
	if !res.OK || read(t, dir+"/"+nested) != string(picture("mask")) || len(res.Changes) != 2 {
		t.Errorf("bk/FB16: %+v", res)
	}
}

// TestScratchRefusals: what refuses has the code of the reason.
func TestScratchRefusals(t *testing.T) {
	const mask = ScratchDir + "/a/s-mask.png"
	f := newField(t, dirchain.Options{SkipSync: true})
	f.Scratch = checkout(t, f.Root, ignoreRule, scratch.Options{Timeout: 200 * time.Millisecond})
	try(t, os.Remove(f.dir+"/.gitignore"), syscall.Mkfifo(f.dir+"/.gitignore", 0o600))
	if res := f.Write(t.Context(), mask, picture("mask")); res.OK || res.Code != ApplicationFailed || !strings.Contains(res.Message, scratch.Fix) {
		t.Errorf("git does not answer: %+v", res)
	}
	try(t, os.Rename(f.dir+"/"+ScratchDir, f.dir+"/moved"), os.WriteFile(f.dir+"/"+ScratchDir, nil, 0o600))
	if err := f.Scratch.Prepare(t.Context()); CodeOf(err) != AliasDenied {
		t.Errorf("the area is a file: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Scratch.Prepare(cancelled); CodeOf(err) != Cancelled {
		t.Errorf("the turn was given up: %v", err)
	}
	if Scratch(nil) != nil {
		t.Error("an area without one")
	}
	try(t, os.Remove(f.dir+"/"+ScratchDir), os.Rename(f.dir+"/moved", f.dir+"/"+ScratchDir), os.Remove(f.dir+"/.gitignore"))
	write(t, f.dir+"/.gitignore", ignoreRule)
	f.Scratch = checkout(t, f.Root, ignoreRule, scratch.Options{})
	if res := f.Write(t.Context(), mask, picture("mask")); !res.OK {
		t.Errorf("the control: %+v", res)
	}
}

// TestScratchPruneFails: bk/HM21, what an area's report says was left is told.
func TestScratchPruneFails(t *testing.T) {
	const mask = ScratchDir + "/a/s-mask.png"
	f := newField(t, dirchain.Options{SkipSync: true})
	f.Scratch = checkout(t, f.Root, ignoreRule, scratch.Options{})
	var once sync.Once
	f.fail = func(call string) (err error) {
		if call == "remove" {
			once.Do(func() { err = syscall.EIO })
		}
		return err
	}
	res := f.Write(t.Context(), mask, picture("mask"))
	if !res.OK || len(res.Changes) != 1 || !strings.Contains(res.Outcome, `could not be removed: 1, the first is "`+oldFile+`" (EIO)`) {
		t.Errorf("bk/HM21: %+v", res)
	}
	if got := entries(t, f.dir+"/"+ScratchDir+"/a"); got != "old.txt s-mask.png s.png" {
		t.Errorf("bk/HM21: %s", got)
	}
	f.fail = nil
	deep := f.dir + "/" + ScratchDir + "/deep"
	try(t, os.MkdirAll(deep+strings.Repeat("/d", dirchain.MaxDepth), 0o755))
	if res = f.Write(t.Context(), mask, picture("mask")); !res.OK || !strings.Contains(res.Outcome, "a limit was met") {
		t.Errorf("bk/HM21 not to the end: %+v", res)
	}
	try(t, os.RemoveAll(deep), os.WriteFile(f.dir+"/"+oldFile, nil, 0o600))
	past := time.Now().Add(-scratch.DefaultTTL - time.Hour)
	try(t, os.Chtimes(f.dir+"/"+oldFile, past, past))
	if res = f.Write(t.Context(), mask, picture("mask")); !res.OK || len(res.Changes) != 2 || res.Outcome != "" {
		t.Errorf("the control: %+v", res)
	}
}
