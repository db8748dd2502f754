package shell

import (
	"strings"
	"testing"
)

func floorsOf(text string) string {
	var all []string
	for _, u := range Read(text, env).Units {
		if u.Floor != None && !u.DenyOnly {
			all = append(all, string(u.Floor))
		}
	}
	return strings.Join(all, " ")
}

// TestFloors has GT-12 of the escape matrix: esc/GT-12, and esc/GT-11, esc/GT-13
// as far as the text shows it.
func TestFloors(t *testing.T) {
	for floor, texts := range map[Floor][]string{
		Opaque: {
			`sh -c x`, `bash -lc "x"`, `dash -ec x`, `/bin/sh -c x`, `sh`, `a | sh`, `bash -s x`, `bash <(x)`, `sh /dev/stdin`, `bash -x -c y`,
			`bash --rcfile x`, `eval x`, `source x`, `. ./x`, `trap x EXIT`, `alias x=y`, `hash -p /x git`, `complete -C x`,
			`$X y`, `"$X" y`, `$(a) b`, "`a` b", `g* status`, `{npm,i}`, `$'\x6epm' i`, `git$IFS"push"`, `/bin/l?`,
			`python -c x`, `python3 -c x`, `python3.11 -Bc x`, `python`, `python -`, `node -e x`, `node --eval=x`, `node -pe x`, `perl -e x`, `perl -ne x`,
			`perl -i.bak -pe x`, `ruby -e x`, `php -r x`, `lua -e x`, `bun -e x`,
			`git -c alias.x='!y' x`, `git -calias.x=y x`, `git config alias.x '!y'`, `git submodule foreach x`, `git clone ext::sh`, `git rebase -x y`,
			`git fetch --upload-pack=x`, `git --exec-path=/x y`, `git clone -c core.sshCommand=x y`, `git difftool -x y`, `git -C a -c b=c d`,
			`tar --checkpoint-action=exec=x -cf y z`, `tar --to-command=x -xf y`, `tar -I x -cf y z`, `tar --use-compress x`, `tar -cf x --checkpoint-act=exec=y`,
			`ssh -o ProxyCommand=x h`, `ssh -oProxyCommand=x h`, `ssh -o proxycommand=x h`, `ssh -F x h`, `scp -S x a b`, `rsync -e x a b`, `rsync --rsh=x a b`,
			`sed e`, `sed 's/x/y/e' a`, `sed '1e x' a`, `sed -e 's/a/b/' -e e x`, `sed -f x y`, `sed 's/a/b/w x' y`, `sed "s/$X/y/" a`, `sed 's/[/]/p;s/e;s/a/' x`,
			`awk 'BEGIN{system("x")}'`, `awk '{print | "x"}' y`, `awk '{print > "x"}' y`, `awk -f x y`, `gawk '"x" | getline' y`, `awk "$X" y`,
			`make SHELL=/tmp/x`, `make SHELL:=x`, `make --eval=x`, `make CC=x`, `rg --pre x y`, `sort --compress-program=x`, `vim -c x y`, `vim +x y`, `crontab x`,
			`git $X`, `git "$X" log`, `tar cf x $X`, `sort "$X"`, `sed -n p $X`, `sed "y/[/x/;1e npm #]/x/" a`, `hash -rp x git`,
			`mapfile -tC npm x`, `tar cIf npm x y`, `tar -cIx -f y z`, `git grep -nOx y`, `bash //dev/stdin`, `sh ../../dev/fd/0`, `python3 //dev/stdin`,
			`make -f /dev/stdin`, `make -f -`,
		},
		Indirection: {
			`sudo ls`, `sudo -u x ls`, `doas ls`, `env ls`, `env X=1 ls`, `env -i ls`, `xargs rm`, `time -p ls`, `nohup ls`, `timeout 5 ls`, `nice -n 5 ls`,
			`parallel ls`, `setsid ls`, `stdbuf -oL ls`, `watch ls`, `flock x ls`, `find . -exec ls {} \;`, `find . -execdir x \;`, `find . -ok x`,
			`find . -okdir x`, `fd -x ls`, `fd x --exec ls`, `exec ls`, `command ls`, `builtin cd`, `busybox ls`, `/usr/bin/env ls`, `"sudo" ls`, `su\do ls`,
			`/lib64/ld-linux-x86-64.so.2 /usr/bin/npx`, `ld.so npx`, `npx x`, `git bisect run x`, `docker run x`, `npm exec x`, `find . $X`, `find "$A" "$X" npm \;`, `setarch -R x`, `linux64 x`,
			`bwrap x`, `fakeroot x`, `valgrind x`, `numactl -N 0 x`, `brainbox x`,
		},
		Assignment: {
			`PATH=/tmp git status`, `PATH=/tmp`, `LD_PRELOAD=x ls`, `BASH_ENV=x ls`, `ENV=x ls`, `IFS=x`, `GIT_SSH_COMMAND=x git fetch`, `PROMPT_COMMAND=x`,
			`export PATH=/tmp`, `declare PATH=/tmp`, `export "PATH=/tmp"`, `PATH+=:/tmp ls`, `read PATH`, `printf -v PATH x`, `printf -vPATH x`, `declare -n x=PATH`,
			`NODE_OPTIONS=x node a`, `export $X`, `BASH_CMDS[git]=x`, `BASH_CMDS=([git]=x)`, `BASH_ALIASES[git]=x`, `printf -v $X y`, `printf -v "${X}TH" y`, `read $X`,
			`read -raPATH`, `mapfile -t $X`, `unset PATH`,
		},
	} {
		for _, text := range texts {
			if got := floorsOf(text); !strings.Contains(got, string(floor)) {
				t.Errorf("%q has %q, want %s", text, got, floor)
			}
		}
	}
}

func TestNoFloor(t *testing.T) {
	for _, text := range []string{
		`git status`, `git -C a log`, `git config --get x`, `git config x`, `git commit -m "x y"`, `git log $X`, `git push origin`, `sh x.sh`, `bash ./x.sh a -c`,
		`bash --version`, `python x.py -c`, `python -m pytest`, `python3 --version`, `node x.js -e`, `perl x.pl`, `find . -name x`, `fd x`, `tar -xzf x`,
		`ssh h ls`, `sed -n '1,20p' x`, `sed 's/a/b/g' x`, `sed -i 's|a|b|' x`, `sed -e '/x/d' -e '$p' y`, `sed 's/[[:space:]]*$//' x`, `awk '{print $1}' x`,
		`awk -F : '{print $1}' x`, `make all`, `make -j4 FOO=1`, `make $X`, `command -v x`, `FOO=1 ls`, `CI=1 npm test`, `export FOO=1`, `read x`, `printf '%s' x`,
		`rg x`, `sort -u x`, `ls *.go`, `[ -f x ]`, `trap`, `go test ./...`, `sort *.go`, `sort -- "$X"`, `find "$X" -name y`, `sed -n p *.go`, `sed 'y/a[/b(/' x`, `printf '%s' $X`, `unset X`, `npm run x`, `cat <<'E'` + "\n$(x)\nE\n",
	} {
		if got := floorsOf(text); got != "" {
			t.Errorf("%q has %s", text, got)
		}
	}
}

// What a wrapper runs is found, so that a rule can deny it.
func TestWrapped(t *testing.T) {
	for _, text := range []string{
		`sudo npm i`, `sudo -u x -n npm i`, `env A=1 -u B npm i`, `timeout -k 1 5 npm i`, `nice -n 3 npm i`, `xargs -n 1 npm i`, `sudo env npm i`, `bash -c "npm i"`,
		`sh -ec 'ls; npm i'`, `eval npm i`, `eval "npm" 'i'`, `find . -exec npm i`, `nohup setsid npm i`, `sudo bash -c "npm i"`, `stdbuf -o L npm i`, `flock x npm i`,
		`command npm i`, `env -S 'npm i'`, `git bisect run npm i`, `(sudo npm i)`, `x=$(sudo npm i)`, `bash -c 'bash -c "npm i"'`, `ls; npm i; "`, `if "; then FOO=1 npm i; fi`,
	} {
		found := false
		for _, u := range Read(text, env).Units {
			found = found || u.Form == "npm i"
		}
		if !found {
			units, _ := describe(Read(text, env))
			t.Errorf("%q: npm i is not found in %q", text, units)
		}
	}
}
