package integration

import "testing"

// gitDates makes the names of commits the same in both runs.
const gitDates = `export GIT_AUTHOR_DATE=2002-02-03T04:05:06Z GIT_COMMITTER_DATE=2002-02-03T04:05:06Z
	`

func TestCompatGit(t *testing.T) {
	cases := []compatCase{
		{
			name: "status",
			script: `echo changed >README; echo new >new; git status --porcelain; git diff --stat;
			git ls-files`,
		},
		{
			name: "commit",
			script: gitDates + `echo more >>README; mkdir d; echo x >d/f; git add -A; git commit -qm second;
			git log --format='%H %an %s'; git show --stat --format=%s; git status --short;
			git commit -q --amend -m third; git rev-parse HEAD; git fsck --strict`,
		},
		{
			nsFlags: []string{"--git-config"}, // a branch that is renamed takes its configuration along
			name:    "branches",
			script: gitDates + `git branch side; git switch -q side; echo s >s; git add s; git commit -qm side;
			git switch -q main; echo m >m; git add m; git commit -qm main; git merge -q -m merged side;
			git log --oneline --graph; git tag v1; git tag -a -m annotated v2; git describe; git branch -d side;
			git branch -m other; git branch`,
		},
		{
			name: "stash",
			script: gitDates + `echo dirty >>README; git stash -q; cat README; git stash list; git stash pop -q;
			cat README`,
		},
		{
			name: "rebase",
			script: gitDates + `git switch -qc topic; for i in 1 2 3; do echo $i >f$i; git add f$i;
			git commit -qm c$i; done; git switch -q main; echo base >base; git add base; git commit -qm base;
			git switch -q topic; git rebase -q main; git log --format='%H %s';
			GIT_SEQUENCE_EDITOR='sed -i s/^pick/reword/' GIT_EDITOR='sed -i s/^c/C/' git rebase -q -i HEAD~2;
			git log --format='%H %s'; git cherry-pick -n main >/dev/null 2>&1 || true;
			git reset -q --hard HEAD~1; git reflog | wc -l`, noisy: true,
		},
		{
			name: "conflict",
			script: gitDates + `git switch -qc a; echo a >README; git commit -qam a; git switch -q main;
			echo b >README; git commit -qam b; git merge a >/dev/null || git diff --name-only --diff-filter=U;
			git checkout -q --theirs README; git add README; git commit -qm solved; cat README`,
		},
		{
			name: "gc",
			script: gitDates + `for i in 1 2 3 4 5; do echo $i >f; git add f; git commit -qm $i; done;
			git gc -q --prune=now; git repack -adq; git count-objects -v | head -1; git fsck --full;
			git log --oneline | wc -l; ls .git/objects/pack | wc -l`, differs: true,
		},
		{
			name: "local clone",
			script: gitDates + `git clone -q . copy; git -C copy log --oneline;
			git clone -q --no-hardlinks "file://$PWD" copy2; git clone -q --bare . bare.git; cd copy;
			git config user.name x; git config user.email x@y; echo c >c; git add c; git commit -qm c;
			git push -q origin HEAD:refs/heads/pushed; git fetch -q; git pull -q --rebase origin pushed; cd ..;
			git log --oneline pushed; git init -q sub/new; ls sub/new/.git/HEAD;
			rm -rf copy copy2 bare.git sub`, noisy: true,
		},
		{
			name: "init",
			script: gitDates + `git init -q -b trunk inner; cd inner; echo x >f; git add .;
			git commit -qm inner; git log --format='%an <%ae> %s'`, varies: `.* inner\n`, differs: true,
			setup: `git config --unset user.name; git config --unset user.email`,
		},
		{
			name: "archive and bundle",
			script: `git archive HEAD | tar tf -; git bundle create -q b HEAD; git bundle verify -q b;
			git format-patch -q --root HEAD; ls *.patch; git clean -fdxq; ls; git grep first;
			git blame -s README; git worktree list | wc -l; git notes list;
			git bisect log 2>/dev/null || echo none`, noisy: true,
		},
		{
			name: "config stays open in isolation landlock", nsFlags: []string{"--git-config"},
			script: gitDates + `git config --local core.filemode false; git config core.filemode;
			git remote add o /nowhere; git branch -q --track t main; git submodule status;
			git config --get remote.o.url`,
		},
		{
			name: "hooks of the checkout",
			setup: `printf '#!/bin/sh\necho "hook in $GIT_DIR"\n' >.git/hooks/pre-commit;
			chmod +x .git/hooks/pre-commit`,
			script: gitDates + `echo x >f; git add f; git commit -qm f 2>&1`,
		},
		{
			name:   "clean and smudge",
			setup:  `git config filter.up.clean 'tr a-z A-Z'; echo '*.up filter=up' >.gitattributes`,
			script: `echo text >f.up; git add f.up; git cat-file -p :f.up`,
		},
		{
			name: "fetch is refused without network",
			script: `if out=$(git ls-remote git://127.0.0.1:9/x 2>&1); then exit 1; fi
			echo "$out" | grep -o 'Connection refused\|Operation not permitted\|Permission denied' | head -1`,
			refused: `(Operation not permitted|Permission denied)\n`, ns: `Connection refused\n`,
		},
	}
	for i := range cases {
		cases[i].needs = append(cases[i].needs, "git")
	}
	runCompat(t, cases)
}

// TestCompatWorktree runs git in a linked worktree, whose repository lies outside of it.
func TestCompatWorktree(t *testing.T) {
	const linked = `git worktree add -q -b side linked; echo secret >outside`
	runCompat(t, []compatCase{
		{
			name: "status and commit", needs: []string{"git"}, setup: linked, dir: "linked", script: gitDates +
				`git status --short --branch; echo x >x; git add x; git commit -qm x; git log --format='%H %s';
			git diff main --stat; git stash list; git branch; git worktree list | wc -l; git gc -q`,
			differs: true,
		},
		{
			name: "the main work tree stays closed", needs: []string{"git"}, setup: linked, dir: "linked",
			ns: `closed\n(written\n)?../.git/HEAD\n`, // into a folder of the sandbox's own
			script: `cat ../outside 2>/dev/null || echo closed; (echo x >../new) 2>/dev/null && echo written;
			test -d ../.git/objects && ls ../.git/HEAD`,
			refused: `closed\n../.git/HEAD\n`,
		},
		{
			name: "a forged link opens nothing", needs: []string{"git"}, dir: "forged",
			setup: `mkdir -p forged other/.git/worktrees/x; echo secret >other/.git/s;
			echo "gitdir: $PWD/other/.git/worktrees/x" >forged/.git;
			echo ../.. >other/.git/worktrees/x/commondir; echo /elsewhere/.git >other/.git/worktrees/x/gitdir`,
			script: `cat ../other/.git/s 2>/dev/null || echo closed`, refused: `closed\n`, ns: `closed\n`,
		},
	})
}
