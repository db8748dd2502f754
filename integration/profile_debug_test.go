package integration

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	// debugged loops until a debugger ends the loop.
	debugged = `cat >p.c <<'END'
#include <stdio.h>
#include <unistd.h>
volatile int go_on = 1, five = 5;
int twice(int n) { return 2 * n; }
int main(int argc, char **argv) {
	if (argc > 1) { puts("ready"); fflush(stdout); while (go_on) usleep(1000); }
	printf("%d\n", twice(five));
	return 0;
}
END
cc -g -O0 -o p p.c
`
	// leaking loses its memory if it is told so.
	leaking = `cat >l.c <<'END'
#include <stdlib.h>
#include <string.h>
char *volatile kept;
int main(int argc, char **argv) { kept = strdup("lost"); if (argc > 1) kept = 0; return 0; }
END
cc -g -O0 -fsanitize=leak -o leak l.c
cc -g -O0 -fsanitize=address -o address l.c
`
	gdb      = `gdb -nx -q -batch -iex 'set debuginfod enabled off'`
	attached = `mkfifo f; ./p loop >f & pid=$!; exec 3<f; read -r line <&3
	` + gdb + ` -ex 'printf "five is %d\n", five' -ex 'set var go_on = 0' -ex detach -p $pid 2>&1 | grep -x 'five is 5' || echo refused
	`
)

func TestProfileDebug(t *testing.T) {
	withProfile(t, "debug", []compatCase{
		{
			name: "gdb starts a program", setup: debugged, noisy: true, needs: []string{"cc", "gdb"},
			script: gdb + ` -ex 'break twice' -ex run -ex 'printf "n is %d\n", n' -ex 'call twice(21)' -ex continue ./p 2>&1 |
			grep -E '^n is|^\$1 =|^10$|exited normally' | sed 's/process [0-9]*/process/'`,
		},
		{
			name: "gdb attaches to a program", setup: debugged, noisy: true, needs: []string{"cc", "gdb"},
			script: attached + `cat <&3; wait $pid; rm f`,
		},
		{
			name: "strace follows children", noisy: true, needs: []string{"strace"},
			script: `strace -ff -e trace=execve -o t sh -c '/bin/cat README; /bin/cat README | /bin/cat'
			cat t.* | grep -c '^execve("/bin/cat".* = 0$'; rm t.*`,
		},
		{
			name: "LeakSanitizer", setup: leaking, noisy: true, needs: []string{"cc"}, differs: true,
			script: `for p in ./leak ./address; do
				$p; echo $?; if $p lose 2>err; then echo nothing; else grep -c 'detected memory leaks' err; fi; rm err
			done`,
		},
		{name: "addresses that are not random", needs: []string{"setarch"}, script: `setarch -R sh -c 'cat /proc/self/personality'`},
	})
}

// TestDefaultDebugsNothing is the other side: without the profile the same programs find
// ptrace(2) closed.
func TestDefaultDebugsNothing(t *testing.T) {
	const refused = `refused\n`
	runCompat(t, []compatCase{
		{
			name: "gdb starts a program", setup: debugged, noisy: true, needs: []string{"cc", "gdb"},
			script:  gdb + ` -ex 'break twice' -ex run -ex 'printf "n is %d\n", n' ./p 2>&1 | grep -x 'n is 5' || echo refused`,
			refused: refused, ns: refused,
		},
		{
			name: "gdb attaches to a program", setup: debugged, noisy: true, needs: []string{"cc", "gdb"},
			script: attached + `kill $pid 2>/dev/null || :; rm f`, refused: refused, ns: refused,
		},
		{
			name: "LeakSanitizer", setup: leaking, noisy: true, needs: []string{"cc"},
			script:  `./leak 2>err || :; if grep -q 'fatal error' err; then echo refused; else echo looked; fi; rm err`,
			refused: refused, ns: refused,
		},
	})
}

// TestProfileDebugFromTheRefusedSide: ptrace is open inside and stops at the domain. The
// canary is a process of the same user outside; brainbox itself is aimed at too, and in
// isolation namespaces what brainbox has inside, process 1.
func TestProfileDebugFromTheRefusedSide(t *testing.T) {
	want := unharmed(t)
	rows := append(aimedRows("{PID}", "canary"), aimedRows("{BOX}", "brainbox")...)
	rows = append(rows, slices.DeleteFunc(signalRows(), func(r row) bool { return r.id != "PR-02" })...)
	rows = append(rows, row{
		id: "PR-13", name: "kcmp with another",
		attempt: call(unix.SYS_KCMP, "{PID}", "{PID}", 0, 0, 0), want: errnos("EPERM"),
	})
	rows = append(rows, slices.DeleteFunc(adminRows(), func(r row) bool { return r.id != "NS-18" })...)
	if inside() {
		for _, r := range attachRows() {
			if strings.HasPrefix(r.id, "PR-0") {
				r.name, r.control = r.name+" of process 1", r.attempt
				r.attempt = strings.ReplaceAll(r.attempt, "{PID}", "1")
				rows = append(rows, r)
			}
		}
	}
	for i := range rows {
		rows[i].check = func(t *testing.T, w *world) {
			if got := w.canary.state(t); got != want {
				t.Errorf("the canary is %q, want %q", got, want)
			}
		}
	}
	runRows(t, rows, "--profile", "debug")
}

// TestProjectFileOpensNoPtrace: what the program's own side of the checkout says cannot
// open what only the operator opens.
func TestProjectFileOpensNoPtrace(t *testing.T) {
	runCompat(t, []compatCase{{
		name: "strace", needs: []string{"strace"},
		setup: `printf 'version = 1\n[process]\nseccomp = "default"\n' >.brainbox.toml`, flags: []string{"--profile", "debug"},
		script:  `strace -o t true 2>/dev/null && echo traced || echo refused; rm -f t`,
		refused: `refused\n`, ns: `refused\n`,
	}})
}
