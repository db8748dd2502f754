package integration

import "testing"

func TestCompatArchive(t *testing.T) {
	const tree = `mkdir -p src/sub src/empty; echo data >src/f; printf '#!/bin/sh\n' >src/run;
			chmod 755 src/run; chmod 600 src/f; ln -s f src/link; ln src/f src/sub/hard; chmod 711 src/sub;
			chmod 500 src/empty
		touch -d @1000000000 src/f src/run src/sub src/empty src; touch -hd @1000000000 src/link; `
	runCompat(t, []compatCase{
		{
			name: "tar", needs: []string{"tar"},
			script: tree + `tar cf a.tar src; mkdir out; tar xpf a.tar -C out;
			stat -c '%a %Y %h %n' out/src out/src/* | sort; tar tvf a.tar | wc -l;
			tar xf a.tar --strip-components=1 -C out src/f; tar -cf - src | tar -tf - | sort;
			chmod -R u+w src out; rm -r src out a.tar`,
		},
		{
			name: "tar gzip", needs: []string{"tar", "gzip"},
			script: tree + `tar czf a.tgz src; mkdir out; tar xzpf a.tgz -C out;
			stat -c '%a %n' out/src/* | sort; gzip -t a.tgz; chmod -R u+w src out; rm -r src out a.tgz`,
		},
		{
			name: "tar xz", maybe: []string{"tar", "xz"},
			script: tree + `tar cJf a.txz src; xz -t a.txz; tar xJOf a.txz src/f; chmod -R u+w src;
			rm -r src a.txz`,
		},
		{
			name: "tar zstd", maybe: []string{"tar", "zstd"},
			script: tree + `tar --zstd -cf a.tzst src; tar --zstd -xOf a.tzst src/f; chmod -R u+w src;
			rm -r src a.tzst`,
		},
		{
			name: "gzip", needs: []string{"gzip"},
			script: `cp README f; touch -d @5 f; gzip f; zcat f.gz; gunzip f.gz; stat -c '%Y %a' f;
			gzip -9kc f | gzip -dc`,
		},
		{
			name: "xz", maybe: []string{"xz"},
			script: `seq 100000 >f; xz -k -T2 f; xz -dc f.xz | cmp - f; rm f.xz; xz f; unxz f.xz; tail -1 f;
			rm f`,
		},
		{
			name: "zstd", maybe: []string{"zstd"},
			script: `seq 100000 >f; zstd -q -T2 f; zstd -dc f.zst | cmp - f; zstd -q --rm f -o g.zst;
			unzstd -q g.zst; tail -1 g; rm g g.zst f.zst`,
		},
		{
			name: "bzip2", maybe: []string{"bzip2"},
			script: `seq 1000 >f; bzip2 f; bzcat f.bz2 | tail -1; bunzip2 f.bz2; rm f; echo ok`,
		},
		{
			name: "zip", maybe: []string{"zip", "unzip"},
			script: `zip -q a.zip README; unzip -p a.zip; unzip -qo a.zip -d out; cat out/README;
			rm -r a.zip out`,
		},
		{
			name: "cpio", maybe: []string{"cpio"},
			script: `echo README | cpio -o 2>/dev/null >a.cpio; mkdir o; (cd o; cpio -i 2>/dev/null <../a.cpio;
			cat README); rm -r a.cpio o`,
		},
	})
}
