package confirm

import "testing"

// measured is the table of contract brainkit §3.2: what each command is found by, 0 by none.
var measured = []struct {
	want     int
	commands []string
}{
	{0, []string{"brain archived x", "brain-archive x", "mybrain archive x"}},
	{0, []string{
		"rm --recursive x", "rm x -rf", "rm -f x", "rm -i x", "rm -- -r", "rm --force x", "rmdir -r x",
		"find . -delete", "farm -rf x",
	}},
	{0, []string{"git push -f", "git push origin +main", "git -C x push --force", "git push origin\n--force"}},
	{0, []string{"git reset --soft", "git -C d reset --hard", "git reset\n--hard"}},
	{0, []string{"git clean -n"}},
	{0, []string{"git checkout --", "git checkout main", "git checkout .", "git restore a", "rm \u2013rf x"}},
	{1, []string{"brain archive a.md", "BRAIN ARCHIVE x", "./brain archive x", "echo 'brain archive'"}},
	{1, []string{"brain archive a && git push --force"}},
	{2, []string{
		"rm -rf x", "rm -fr x", "rm -r -f x", "rm -f -r x", "rm -v -rf x", "rm -dr x", "RM -RF x", "sudo rm -rf /",
		"sh -c 'rm -rf x'", "git rm -r x", "rm\t-rf x", "rm\n-rf x", "rm -for x",
	}},
	{3, []string{"git push --force", "git push --force-with-lease", "git push origin main --force", "git push; echo --force"}},
	{4, []string{"git reset --hard", "git reset HEAD~1 --hard"}},
	{5, []string{"git clean -fd", "git clean -d -f", "git clean --force", "git clean -n sub-folder"}},
	{6, []string{"git checkout -- a", "git checkout HEAD -- a", "git checkout -- "}},
}

// The measured matches of bk/CP10's table.
func TestMeasuredMatches(t *testing.T) {
	p, err := Compile(Config{Confirm: Shared()}, func(i Issue) { t.Error(i) })
	if err != nil {
		t.Fatal(err)
	}
	whole := Patterns{}
	for _, row := range measured {
		for _, command := range row.commands {
			got, ok := p.First(command)
			if row.want == 0 {
				if ok {
					t.Errorf("%q is found by %q", command, got.Source())
				}
				continue
			}
			if want := Shared()[row.want-1].Pattern; got.Source() != want {
				t.Errorf("%q is found by %q, want %q", command, got.Source(), want)
			}
			if q, ok := whole.First(command); !ok || q.Source() != got.Source() {
				t.Errorf("with the additions %q is found by %q, want %q", command, q.Source(), got.Source())
			}
		}
	}
}

// What brainbox adds, and what it leaves alone.
func TestAdded(t *testing.T) {
	for _, command := range []string{
		"rm --recursive x", "rm -f --recursive x", "rm x --recursive", "rm --rec x", "git push -f", "git push origin main -f",
		"git push -uf origin", "git push origin +main", "git push origin +HEAD:main", "git -C x push --force",
		"git -C x push -f", "git -C d reset --hard", "git --git-dir=x reset --hard HEAD", "git -c a=b clean -fd",
		"git -C d checkout -- a", "git restore a", "git -C d restore a", "git branch -D x", "git branch -vD x",
		"find . -delete", "find . -name '*.o' -delete", "dd if=/dev/zero of=/dev/sda", "mkfs.ext4 /dev/sda", "mkfs /dev/sda",
		"shred x", "truncate -s 0 x",
	} {
		if _, ok := (Patterns{}).First(command); !ok {
			t.Errorf("%q is not found", command)
		}
	}
	for _, command := range []string{
		"ls -la", "git status", "git push", "git push origin main", "git push --follow-tags", "git push -u origin feature",
		"git branch -d x", "git branch --show-current", "git commit -m restore", "git commit -m 'push --fix'", "find . -name delete",
		"rm x", "rm -f x", "rmdir x", "dd if=x", "add of=", "mkfsx", "shredder", "truncated", "git log --reverse", "git rm x", "npm run build",
		"rm --preserve-root x", "git reset --soft", "git checkout main", "git diff -- a",
	} {
		if q, ok := (Patterns{}).First(command); ok {
			t.Errorf("%q is found by %q", command, q.Source())
		}
	}
}
