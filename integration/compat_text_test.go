package integration

import "testing"

func TestCompatText(t *testing.T) {
	runCompat(t, []compatCase{
		{
			name: "find",
			script: `mkdir -p a/b/c; touch a/1 a/b/2 a/b/c/3; find . -name .git -prune -o -type f -print | sort;
			find a -type f -exec chmod 600 {} +
			find a -type f -exec sh -c 'echo got "$1"' _ {} \; | sort; find a -newer README -o -empty | sort;
			find a -execdir pwd \; | wc -l; find a -perm 600 -delete; find a -depth -type d -empty -delete;
			test ! -e a; echo gone`,
		},
		{
			name: "sed",
			script: `cp README f; chmod 640 f; sed -i 's/first/second/' f; cat f; sed -i.bak '1a more' f; ls;
			sed -n '$=' f; sed --follow-symlinks -i s/m/M/ f; cat f`,
		},
		{
			name: "grep",
			script: `mkdir d; echo needle >d/x; grep -r needle .; grep -rlZ needle d | xargs -0 -n1 echo;
			grep -c first README; grep -P 'fi\w+' README; grep -q nothing README || echo no`,
		},
		{
			name: "xargs",
			script: `seq 40 | xargs -P 4 -n 1 sh -c 'echo "$1" >"f$1"' _; ls f* | wc -l;
			seq 9 | xargs -P0 -I{} sh -c 'echo {}' | sort; rm f*`,
		},
		{
			name: "awk", needs: []string{"awk"},
			script: `printf 'a 1\nb 2\n' | awk '{s+=$2; print $1 >"o." $1} END {print s; "echo sub" | getline x;
			print x; system("echo sys")}'; cat o.a`,
		},
		{
			name: "perl", needs: []string{"perl"},
			script: `perl -MPOSIX -MFile::Temp=tempfile -MFile::Copy -MList::Util=sum -e 'print sum(1..4), "\n";
			my ($fh, $n) = tempfile(UNLINK => 1); print $fh "x"; close $fh; print -s $n, "\n";
			copy("README", "copy"); print POSIX::strftime("%Z", localtime(0)), "\n"; print qx(echo back);
			my $p = fork // die; if (!$p) { exit 7 } waitpid $p, 0; print $? >> 8, "\n";
			open my $o, "-|", "cat", "README" or die $!; print <$o>'; perl -i -pe 's/first/1st/' copy;
			cat copy`,
		},
		{
			name: "perl sockets", needs: []string{"perl"},
			script: `perl -MSocket -MIO::Handle -e '
			socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die $!; print $a "pair\n"; $a->flush; print scalar <$b>'`,
		},
		{
			name: "date",
			script: `date -d @0 '+%F %T %Z'; TZ=America/New_York date -d @0 '+%F %T %Z';
			TZ=UTC date -d '2020-01-01 +1 day' +%s; TZ=Asia/Kolkata date -d @1600000000 +%z`,
		},
		{
			name: "tput", needs: []string{"tput"},
			script: `tput colors; tput bold | od -c | head -1; TERM=vt100 tput cols; TERM=screen tput longname;
			TERM=linux tput cup 1 1 | od -c | head -1; infocmp xterm >/dev/null`,
		},
		{
			name: "locale",
			script: `locale | head -3; LC_ALL=C.UTF-8 sh -c 'printf %s ä | wc -m'; LC_ALL=C printf '%s\n' ok;
			locale -a | head -3`,
		},
		{
			name: "iconv", maybe: []string{"iconv"},
			script: `printf 'ä' | iconv -f UTF-8 -t ISO-8859-1 | od -An -tx1;
			printf x | iconv -t UTF-16LE | od -An -tx1`,
		},
		{
			name: "less", maybe: []string{"less"},
			script: `less README; less <README; PAGER=less sh -c '$PAGER README'`,
		},
		{
			name: "vim", maybe: []string{"vim"}, noisy: true,
			script: `cp README v; vim -es -u NONE -c '%s/first/edited/' -c 'wq' v </dev/null; cat v;
			vim -es -c 'normal Goadded' -c 'wq' v </dev/null; cat v; ls -a`,
		},
		{name: "jq", maybe: []string{"jq"}, script: `echo '{"a":[1,2,{"b":"c"}]}' | jq -c '.a[2].b, (now|type)'`},
		{
			name: "diff and patch", maybe: []string{"diff", "patch"},
			script: `printf 'first\nnew\n' >n; diff -u --label a/README --label b/README README n >p || true;
			patch -p1 <p; cat README; cmp README n && rm n p; ls`,
		},
	})
}
