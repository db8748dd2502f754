package scratch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"brainbox/dirchain"
)

// ignoredPlace is a root that ignores its area, and a directory beside it that
// nothing may reach.
func ignoredPlace(t *testing.T) (a *Area, dir, outside string) {
	t.Helper()
	a, dir = place(t)
	write(t, dir+"/.gitignore", Location+"/\n")
	outside = filepath.Dir(dir) + "/outside"
	mkdir(t, outside)
	return a, dir, outside
}

func text(s string) *strings.Reader { return strings.NewReader(s) }

func TestReady(t *testing.T) {
	a, dir, _ := ignoredPlace(t)
	if err := a.Check(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Check without an area: %v", err)
	}
	if got := list(t, dir); got != ".gitignore" {
		t.Errorf("Check made %s", got)
	}
	for range 2 {
		if err := errors.Join(a.Ready(t.Context()), a.Check(t.Context())); err != nil {
			t.Error(err)
		}
	}
	if got := list(t, dir); got != ".brain .brain/scratch .gitignore" {
		t.Errorf("Ready made %s", got)
	}
}

func TestNotIgnored(t *testing.T) {
	a, dir := place(t)
	ctx := t.Context()
	refuses := func(want string) {
		t.Helper()
		_, err := a.Write(ctx, Location+"/f", dirchain.WriteRequest{Content: text("x")})
		for _, err := range []error{a.Ready(ctx), err} {
			if !errors.Is(err, ErrNotIgnored) || !errors.Is(err, fs.ErrPermission) ||
				!strings.Contains(err.Error(), "brain doctor --fix") {
				t.Errorf("%v, want a refusal that names the fix", err)
			}
		}
		if got := list(t, dir); got != want {
			t.Errorf("left: %q, want %q", got, want)
		}
	}
	refuses("")
	mkdir(t, dir+"/.brain")
	refuses(".brain")
	write(t, dir+"/.brain/other", "x")
	refuses(".brain .brain/other")
	mkdir(t, dir+"/"+Location)
	refuses(".brain .brain/other .brain/scratch")
	write(t, dir+"/.brain/.gitignore", "scratch/\n")
	if err := a.Ready(ctx); err != nil { // control
		t.Error(err)
	}
}

// TestNotGenuine: a link in the place of either directory, there before or put
// there at a named point, is refused, and nothing appears behind it.
func TestNotGenuine(t *testing.T) {
	swap := func(t *testing.T, name, target string) {
		if err := os.Rename(name, name+".away"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name, point, link string
		behind            string // what is in the directory outside
	}{
		{"bk/FB14 .brain is a link", "", ".brain", ""},
		{"bk/FB14 .brain is a link to a directory with a scratch", "", ".brain", "scratch"},
		{"bk/FB14 .brain/scratch is a link", "", Location, ""},
		{"bk/FB14 .brain becomes a link after the area was made", "made", ".brain", ""},
		{"bk/FB14 .brain becomes a link to a directory with a scratch", "made", ".brain", "scratch"},
		{"bk/FB14 .brain/scratch becomes a link after it was made", "made", Location, ""},
		{"bk/FB14 .brain becomes a link while git is asked", "asked", ".brain", "scratch"},
		{"bk/FB14 .brain/scratch becomes a link while git is asked", "asked", Location, ""},
		{"bk/FB14 .brain becomes a link before the write", "ready", ".brain", "scratch"},
		{"bk/FB14 .brain/scratch becomes a link before the write", "ready", Location, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, dir, outside := ignoredPlace(t)
			write(t, dir+"/.gitignore", ".brain*\n*.away\n") // a link is no directory: the name alone is ignored
			if tt.behind != "" {
				mkdir(t, outside+"/"+tt.behind)
			}
			if tt.point == "" {
				mkdir(t, filepath.Dir(dir+"/"+tt.link))
				swap(t, dir+"/"+tt.link, outside)
			}
			a.hook = func(point, _ string) {
				if point == tt.point {
					swap(t, dir+"/"+tt.link, outside)
				}
			}
			res, err := a.Write(t.Context(), Location+"/a/f", dirchain.WriteRequest{Content: text("x")})
			if tt.point == "ready" {
				if !errors.Is(err, dirchain.ErrLink) && !errors.Is(err, dirchain.ErrNotDirectory) {
					t.Errorf("Write: %v", err)
				}
			} else if !errors.Is(err, ErrNotGenuine) || !errors.Is(err, fs.ErrPermission) {
				t.Errorf("Write: %v, want %v", err, ErrNotGenuine)
			}
			if got := list(t, outside); res.Applied || got != tt.behind {
				t.Errorf("outside: %q, want %q", got, tt.behind)
			}
		})
	}
	for _, name := range []string{".brain", Location} {
		t.Run(name+" is a file", func(t *testing.T) {
			a, dir, _ := ignoredPlace(t)
			write(t, dir+"/"+name, "x")
			if err := a.Ready(t.Context()); !errors.Is(err, ErrNotGenuine) {
				t.Errorf("Ready: %v", err)
			}
		})
	}
	t.Run("another directory while git is asked", func(t *testing.T) {
		a, dir, _ := ignoredPlace(t)
		mkdir(t, dir+"/other")
		mkdir(t, dir+"/"+Location)
		a.hook = func(point, _ string) {
			if point == "asked" {
				if err := errors.Join(os.Remove(dir+"/"+Location), os.Rename(dir+"/other", dir+"/"+Location)); err != nil {
					t.Error(err)
				}
			}
		}
		if err := a.Ready(t.Context()); !errors.Is(err, dirchain.ErrChanged) {
			t.Errorf("Ready: %v", err)
		}
	})
	t.Run("another root while git answers", func(t *testing.T) {
		a, dir, outside := ignoredPlace(t)
		fake := filepath.Dir(dir) + "/fake"
		script := "#!/bin/sh\nmv " + dir + " " + dir + ".away && mv " + outside + " " + dir + "\n"
		if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		a.git.git, a.git.trust = fake, filepath.EvalSymlinks
		if err := a.Ready(t.Context()); !errors.Is(err, dirchain.ErrChanged) {
			t.Errorf("Ready: %v", err)
		}
		if got := list(t, dir); got != "" {
			t.Errorf("in the other root: %s", got)
		}
	})
	t.Run("another root before git is asked", func(t *testing.T) {
		a, dir, outside := ignoredPlace(t)
		write(t, outside+"/.gitignore", "*\n")
		trust := a.git.trust
		a.git.trust = func(path string) (string, error) {
			return filepath.Join("/", path), errors.Join(os.Rename(dir, dir+".away"), os.Rename(outside, dir))
		}
		if err := a.Ready(t.Context()); !errors.Is(err, dirchain.ErrChanged) {
			t.Errorf("Ready: %v", err)
		}
		if got := list(t, dir); got != ".gitignore" {
			t.Errorf("in the other root: %s", got)
		}
		if a.git.trust = trust; errors.Join(os.Rename(dir, outside), os.Rename(dir+".away", dir)) != nil {
			t.Fatal("the roots cannot be put back")
		}
		if err := a.Ready(t.Context()); err != nil { // control
			t.Error(err)
		}
	})
}

func TestWrite(t *testing.T) {
	a, dir, outside := ignoredPlace(t)
	ctx := t.Context()
	res, err := a.Write(ctx, Location+"/a/b/x-mask.png", dirchain.WriteRequest{Content: text("one")}) // bk/FB16
	if err != nil || !res.Created {
		t.Fatalf("bk/FB16 %+v, %v", res, err)
	}
	if got := list(t, dir+"/.brain"); got != "scratch scratch/a scratch/a/b scratch/a/b/x-mask.png" {
		t.Errorf("bk/FB16 made %s", got)
	}
	if _, err = a.Write(ctx, Location+"/a/b/x-mask.png", dirchain.WriteRequest{
		Mode: dirchain.CreateOrReplace, Content: text("two"), // a name that the caller chose may replace
	}); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(dir + "/" + Location + "/a/b/x-mask.png"); string(got) != "two" {
		t.Errorf("bytes: %q, %v", got, err)
	}
	if err = os.Symlink(outside+"/f", dir+"/"+Location+"/link"); err != nil {
		t.Fatal(err)
	}
	_, err = a.Write(ctx, Location+"/link", dirchain.WriteRequest{Mode: dirchain.CreateOrReplace})
	if !errors.Is(err, dirchain.ErrLink) {
		t.Errorf("over a link: %v", err)
	}
	if got := list(t, outside); got != "" {
		t.Errorf("outside: %s", got)
	}
}

func TestWriteRefusesOtherTargets(t *testing.T) {
	a, dir, _ := ignoredPlace(t)
	for _, path := range []string{ // bk/FB15
		".", "", "..", "a/..", ".brain/scratch", ".brain/scratch/", ".brain/scratch/.", ".brain/scratch/..", ".brain", "/",
		dir + "/.brain/scratch/f", ".brain/scratch/../f", ".brain/scratch/a/../f", "a/.brain/scratch/f", ".Brain/scratch/f",
		".brain/scratchy/f", "./.brain/scratch/f", ".brain//scratch/f", ".brain/scratch/a\x00", "f", "assets/a.png",
	} {
		_, err := a.Write(t.Context(), path, dirchain.WriteRequest{Mode: dirchain.CreateOrReplace, Content: text("x")})
		if !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("bk/FB15 Write(%q): %v", path, err)
		}
		if _, err = a.Publish(t.Context(), path, dirchain.WriteRequest{}); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("bk/FB15 Publish(%q): %v", path, err)
		}
	}
	if got := list(t, dir); got != ".gitignore" {
		t.Errorf("bk/FB15 made %s", got)
	}
}

func TestPublish(t *testing.T) {
	a, dir, outside := ignoredPlace(t)
	area := dir + "/" + Location
	mkdir(t, area+"/dir.png")
	write(t, area+"/file.png", "first")
	if err := errors.Join(
		os.Symlink(outside+"/new", area+"/link.png"),
		os.Link(area+"/file.png", area+"/hard.png"),
	); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dir.png", "file.png", "link.png", "hard.png"} {
		_, err := a.Publish(t.Context(), Location+"/"+name, dirchain.WriteRequest{
			Mode: dirchain.CreateOrReplace, ReplaceLinked: true, Content: text("second"),
		})
		if !errors.Is(err, fs.ErrExist) {
			t.Errorf("Publish over %s: %v", name, err)
		}
	}
	if got, err := os.ReadFile(area + "/file.png"); string(got) != "first" {
		t.Errorf("bytes: %q, %v", got, err)
	}
	if got := list(t, outside) + list(t, area); got != "dir.png file.png hard.png link.png" {
		t.Errorf("left: %s", got)
	}
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			_, errs[i] = a.Publish(context.Background(), Location+"/new.png", dirchain.WriteRequest{
				Content: text(string(rune('a' + i))),
			})
		})
	}
	all.Wait()
	winner := ""
	for i, err := range errs {
		switch {
		case err == nil:
			winner += string(rune('a' + i))
		case !errors.Is(err, fs.ErrExist):
			t.Error(err)
		}
	}
	if got, err := os.ReadFile(area + "/new.png"); len(winner) != 1 || string(got) != winner {
		t.Errorf("published by %q, bytes %q, %v", winner, got, err)
	}
}
