package integration

import "testing"

func TestCompatShell(t *testing.T) {
	runCompat(t, []compatCase{
		{
			name: "sh",
			script: `x=$(echo one | tr a-z A-Z); (exit 3) || echo "$x $?"; set -- *; echo "$#"; wait; umask
			trap 'echo trapped' TERM; kill -TERM $$; echo end`,
		},
		{name: "bash", needs: []string{"bash"}, script: `bash -c 'set -m; sleep 60 & kill %1; wait %1 || echo $?
			set +m; diff <(echo a) <(echo b) || cat <<<here; coproc cat; echo co >&"${COPROC[1]}";
			read -r -u "${COPROC[0]}" l
			echo $l; ulimit -n >/dev/null; ulimit -c; a=(1 2); echo ${#a[@]}; exec 5<>file; echo x >&5;
			time true' 2>/dev/null`},
		{
			name: "bash login", needs: []string{"bash"}, noisy: true,
			script: `bash -lc 'echo ~ | wc -l; command -v ls'`,
		},
		{
			name: "bash interactive", needs: []string{"bash"}, noisy: true,
			script: `echo 'echo "in $((1+1))"; exit 0' | bash -i`,
		},
		{
			name: "dash job control", maybe: []string{"dash"}, noisy: true, // it says "Terminated" or not, as it happens
			script: `dash -c 'sleep 60 & kill $!; wait $! || echo $?'`,
		},
		{
			name: "coreutils copy",
			script: `mkdir -p d/e; printf x >d/e/f; chmod 640 d/e/f; ln -s e/f d/link; ln d/e/f d/hard
			touch -d 2001-02-03 d/e/f; cp -a d copy; stat -c '%A %h %s %n' copy/*; stat -c %y copy/hard
			cp --reflink=auto README r2; cp -r d again; install -d -m 750 inst; install -m 755 README inst/prog;
			ls -l inst | awk '{print $1}'`,
		},
		{
			name: "coreutils move",
			script: `mkdir a b; echo 1 >a/f; mv a/f b/g; mv b a/; mv a "$TMPDIR"/moved; mv "$TMPDIR"/moved back
			rmdir back/b 2>/dev/null || echo full; rm -r back/b; ls -a back; mv README R; mv -n R README;
			mv README README~; mv -b README~ README; ls`,
		},
		{
			name: "coreutils link",
			script: `ln README h; ln -s README s; ln -sf h s; readlink s; readlink -f s >/dev/null;
			stat -c %h README
			realpath --relative-to=. s; unlink h; test ! -e h; ls; link README l2; rm l2; mkfifo p;
			(echo through >p &); cat p; rm p`,
		},
		{
			name: "coreutils temporary",
			script: `f=$(mktemp); echo x >"$f"; d=$(mktemp -d); test -d "$d"; cp "$f" "$d"; ls "$d" | wc -l
			mktemp -p . -d local.XXXX >/dev/null; ls -d local.* | wc -l; rmdir local.*;
			(cd "$d" && pwd >/dev/null); cd /; rm -r "$f" "$d"; echo done`,
		},
		{
			name: "coreutils files", notNS: "chmod -R of a checkout meets what is protected in it",
			script: `truncate -s 100K big; stat -c %s big;
			dd if=/dev/zero of=z bs=1k count=8 conv=fsync status=none
			dd if=/dev/urandom bs=16 count=1 status=none | wc -c;
			fallocate -l 4096 fa 2>/dev/null || truncate -s 4096 fa; shred -u z; split -b 30K big part.
			ls; cat part.* | cmp - big && rm part.*; seq 5 | tee t1 t2 | tac; comm -3 t1 t2; sync README;
			chmod u+x,g-w t1; chmod -R a+rX .; du -s big >/dev/null; df . >/dev/null
			head -c 3 README; tail -n 1 t1; wc -l <t1; sha256sum t1; od -c README | head -1; touch -m -d @5 t2;
			stat -c %Y t2; sleep 0.01; nproc >/dev/null`,
		},
		{
			name: "coreutils sort",
			script: `seq 200000 | sort -R --random-source=/dev/zero >s1;
			sort -n -S 64k -T "$TMPDIR" --parallel=2 s1 | tail -1; sort -rn -o s1 s1; head -1 s1; rm s1;
			uniq README; mkdir mine; seq 9 | sort -S 16k -T mine | tail -1`,
		},
		{
			name: "coreutils processes",
			script: `timeout 0.2 sleep 60 || echo $?; timeout -s KILL 0.2 sh -c 'sleep 60' || echo $?;
			nohup sh -c 'echo kept' >out 2>/dev/null; cat out
			nice -n 5 nice; env -i A=1 env; stdbuf -oL echo line; (sleep 0.05; echo late) & wait;
			tail -n +1 -f README --pid=$! | cat; setsid -w sh -c 'echo session'
			kill -l 15; sh -c 'kill -9 $$' || echo $?; id -u >/dev/null;
			uname -s; chrt -p $$ >/dev/null; ionice >/dev/null; flock lock echo locked`,
		},
		{
			name: "owner and times",
			script: `chown "$(id -u):$(id -g)" README; chgrp "$(id -g)" README; chmod 1755 .; chmod 755 .;
			touch -a README; echo ok`,
		},
		{
			name:   "large pipe",
			script: `head -c 50000000 /dev/zero | tr '\0' a | md5sum; yes | head -n 100000 | wc -l`,
		},
		{
			name: "devices",
			script: `echo x >/dev/null; head -c 4 /dev/zero | od -An -tx1; head -c 8 /dev/random | wc -c;
			(echo y >/dev/full) 2>/dev/null || echo full
			echo err >/dev/stderr; echo out >/dev/stdout; cat /dev/stdin <README; cat /dev/fd/4 4<README;
			cat /proc/self/comm; test -r /proc/cpuinfo; wc -l </proc/self/status >/dev/null; echo end`,
		},
		{
			name: "shared memory",
			script: `test -d /dev/shm || { echo none; exit; }; f=/dev/shm/brainbox-test-$$; echo s >$f; cat $f;
			rm $f`,
		},
	})
}
