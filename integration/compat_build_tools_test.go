package integration

import "testing"

func TestCompatGo(t *testing.T) {
	byOneUser(t)
	const module = `printf 'module demo\n\ngo 1.21\n' >go.mod; mkdir pure
printf 'package pure\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n' >pure/pure.go
cat >pure/pure_test.go <<'END'
package pure

import "testing"

func TestAdd(t *testing.T) {
	if Add(1, 2) != 3 || t.TempDir() == "" {
		t.Fatal()
	}
}
END
printf 'package main\n\nimport "demo/pure"\n\nfunc main() { println(pure.Add(1, 2)) }\n' >main.go
`
	runCompat(t, []compatCase{
		{
			name: "build, vet and test", slow: true, needs: []string{"go"},
			setup: module,
			script: `go version >/dev/null; CGO_ENABLED=0 go build -o demo . 2>&1; ./demo 2>&1; go build ./...;
			CGO_ENABLED=0 go test ./pure | cut -f1,2; go vet ./pure; gofmt -l .; go list ./...; go env GOFLAGS;
			rm demo`,
		},
		{
			name: "caches", needs: []string{"go"},
			setup: module,
			script: `c=$(go env GOCACHE); mkdir -p "$c"; touch "$c/own" 2>/dev/null && rm "$c/own" && echo own;
			m=$(go env GOMODCACHE)
			case $m in "$HOME"/*) (mkdir -p "$m" && touch "$m/x" && rm "$m/x") 2>/dev/null && echo open;;
			*) (touch "$m/x" && rm "$m/x") 2>/dev/null || echo shared; ls "$m" >/dev/null;; esac;
			test -z "$(go env GOFLAGS)"`,
			refused: `own\n(open|shared)\n`, ns: `own\n(open|shared)\n`,
		},
	})
}

func TestCompatCompiler(t *testing.T) {
	byOneUser(t)
	const project = `cat >Makefile <<'END'
CFLAGS = -O1 -g
prog: main.o libx.a
	$(CC) -o $@ main.o -L. -lx -lm
libx.a: x.o
	$(AR) rcs $@ $^
all: prog
clean:
	rm -f prog *.o *.a
END
cat >main.c <<'END'
#include <stdio.h>
#include <math.h>
int x(void);
int main(void) { printf("%d %.1f\n", x(), sqrt(x() * x())); return 0; }
END
echo 'int x(void) { return 42; }' >x.c
`
	runCompat(t, []compatCase{
		{
			name: "make", needs: []string{"make", "cc", "ar"},
			setup:  project,
			script: `make -j2 prog; ./prog; nm prog | grep -c ' T main'; make clean; ls`,
		},
		{
			name: "cc", needs: []string{"cc", "ld"},
			setup: project,
			script: `cc -shared -fPIC -o libx.so x.c; cc -o prog main.c -L. -lx -lm -Wl,-rpath,"$PWD"; ./prog;
			cc -pipe -S -o - x.c | grep -c 'x:'; cc -static -o st x.c main.c -lm && ./st;
			echo 'int main(){}' | cc -xc - -o e && ./e; cc -c x.c; ld -r -o y.o x.o;
			objdump -d y.o | grep -c ret; strip prog; ./prog; cc -flto -O2 -o lto main.c x.c -lm; ./lto;
			rm -f prog st e lto libx.so x.o y.o`,
		},
		{
			name: "c++", maybe: []string{"g++"},
			script: `cat >m.cc <<'END'
#include <filesystem>
#include <iostream>
#include <thread>
int main() {
	std::thread t([] { std::cout << "thread\n"; });
	t.join();
	std::cout << std::filesystem::exists("README") << std::endl;
}
END
			g++ -std=c++17 -pthread -o m m.cc; ./m; rm m`,
		},
		{
			name: "openmp", needs: []string{"cc"},
			script: `cat >o.c <<'END'
#include <stdio.h>
int main() {
	int s = 0;
#pragma omp parallel for reduction(+:s)
	for (int i = 0; i < 100; i++) s += i;
	printf("%d\n", s);
}
END
			cc -fopenmp -o o o.c; ./o; rm o`,
		},
		{
			name: "cargo", maybe: []string{"cargo"},
			script: `cargo init -q --offline --vcs none --name demo .; cargo build -q --offline;
			./target/debug/demo; cargo test -q --offline 2>&1 | grep -o 'test result: ok' | head -1;
			cargo run -q --offline; rm -r target; ls`, noisy: true,
		},
		{
			name: "rustc", maybe: []string{"rustc"},
			script: `echo 'use std::thread; fn main() { println!("{}", thread::spawn(|| 5).join().unwrap());
			}' >r.rs; rustc -o r r.rs; ./r; rm r`,
		},
		{
			name: "java", maybe: []string{"java"},
			script: `cat >A.java <<'END'
import java.nio.file.*;
class A {
	public static void main(String[] a) throws Exception {
		System.out.println(Runtime.version().feature() > 0);
		System.out.println(new ProcessBuilder("cat", "README").inheritIO().start().waitFor());
		Thread t = new Thread(() -> System.out.println("thread"));
		t.start();
		t.join();
		System.out.println(java.time.ZoneId.systemDefault());
		Files.writeString(Path.of("written"), "x");
		System.out.println(java.security.SecureRandom.getInstanceStrong() != null);
	}
}
END
			java A.java; java -version 2>/dev/null; rm A.java`, noisy: true,
		},
		{
			name: "strace is refused", needs: []string{"strace"},
			script: `strace -o t true 2>/dev/null && echo traced || echo refused;
			rm -f t`, refused: `refused\n`, ns: `refused\n`,
		},
	})
}

func TestCompatKeys(t *testing.T) {
	runCompat(t, []compatCase{
		{
			name: "ssh-keygen", named: true, needs: []string{"ssh-keygen"},
			script: `ssh-keygen -q -t ed25519 -N '' -C c -f key; ssh-keygen -q -t rsa -b 2048 -N '' -f rsa;
			ssh-keygen -lf key.pub | cut -d' ' -f1,3-; echo data >d; ssh-keygen -q -Y sign -n file -f key d;
			ssh-keygen -y -f key | cut -d' ' -f1; stat -c '%a %n' key d.sig;
			rm d.sig`, differs: true, noisy: true,
		},
		{
			name: "openssl", maybe: []string{"openssl"},
			script: `openssl genpkey -algorithm ed25519 -out k 2>/dev/null; echo x >d;
			openssl pkeyutl -sign -inkey k -rawin -in d -out s; openssl dgst -sha256 d;
			openssl req -x509 -newkey rsa:2048 -nodes -keyout k2 -out c -days 1 -subj /CN=x 2>/dev/null;
			openssl x509 -in c -noout -subject; openssl verify -CAfile c c`, differs: true,
		},
		{
			name: "gpg without an agent", maybe: []string{"gpg"},
			script: `gpg --version | head -1; echo x | gpg --batch --print-md SHA256`, noisy: true,
		},
	})
}
