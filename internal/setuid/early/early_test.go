package early

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuote(t *testing.T) {
	for _, tt := range [][2]string{
		{"GODEBUG=x=1", "-GODEBUG=x=1"},
		{"GO", "-GO"},
		{"GOPATH=/a", "-GOPATH=/a"},
		{"-GOPATH=/a", "--GOPATH=/a"},
		{"-", "--"},
		{"G", "G"},
		{"", ""},
		{"goflags=1", "goflags=1"},
		{"PATH=GO", "PATH=GO"},
		{"=GO", "=GO"},
	} {
		if got := Quote(tt[0]); got != tt[1] || Unquote(got) != tt[0] {
			t.Errorf("Quote(%q) = %q, and back %q; want %q", tt[0], got, Unquote(got), tt[1])
		}
	}
}

// FuzzQuote holds what makes a loop impossible: nothing quoted begins with GO.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"GODEBUG=1", "-GO", "--", "", "PATH=/bin"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := Quote(s)
		if hasGo([]string{q}) || Unquote(q) != s || len(q) > len(s)+1 {
			t.Errorf("Quote(%q) = %q, and back %q", s, q, Unquote(q))
		}
	})
}

// TestEnvironIsTheKernels starts itself: what the kernel was given must be found, to the byte,
// where the runtime's own copy drops and adds.
func TestEnvironIsTheKernels(t *testing.T) {
	if os.Getenv("EARLY_CHILD") != "" {
		os.Stdout.WriteString("FOUND\x00" + strings.Join(Environ(), "\x00") + "\x00END")
		return
	}
	for _, env := range [][]string{
		{"EARLY_CHILD=1"},
		{"EARLY_CHILD=1", "PATH=/a", "PATH=/b", "no-equals", "GOPATH=x", "-GOPATH=y", "=", strings.Repeat("a", 100_000)},
	} {
		out := rawRun(t, env)
		_, rest, _ := strings.Cut(out, "FOUND\x00")
		rest, _, _ = strings.Cut(rest, "\x00END")
		if diff := cmp.Diff(env, strings.Split(rest, "\x00")); diff != "" {
			t.Errorf("Environ() (-want +got):\n%s", diff)
		}
	}
}

// rawRun starts this test with exactly these strings.
func rawRun(t *testing.T, env []string) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := os.StartProcess("/proc/self/exe", []string{"early", "-test.run=^TestEnvironIsTheKernels$", "x", ""},
		&os.ProcAttr{Env: env, Files: []*os.File{nil, w, os.Stderr}})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	buf := make([]byte, 1<<16)
	for {
		n, err := r.Read(buf)
		out.Write(buf[:n])
		if err != nil {
			break
		}
	}
	if st, err := p.Wait(); err != nil || !st.Success() {
		t.Fatalf("%v, %v", st, err)
	}
	return out.String()
}

// TestFindRefusesAnotherPlace: a vector that does not lie above arguments is not believed.
func TestFindRefusesAnotherPlace(t *testing.T) {
	memory := make([]uintptr, 64)
	for i := range memory {
		memory[i] = 1 << 40
	}
	memory[40] = 23 // AT_SECURE
	memory[41] = 0
	if b := find(memory[40:44]); b.found {
		t.Errorf("find = %+v, want nothing", b)
	}
	if b := find(nil); b.found || !isSecure(nil) {
		t.Errorf("find(nil) = %+v, want nothing, in a secure start", b)
	}
	// argc, two arguments, null, one variable, null, vector
	copy(memory, []uintptr{2, 1 << 40, 1 << 41, 0, 1 << 42, 0, 23, 1})
	if b := find(memory[6:8]); !b.found || !isSecure(memory[6:8]) || len(b.env) != 1 || b.env[0] != 1<<42 {
		t.Errorf("find = %+v, want one variable", b)
	}
	// The same after a loader took out the first variable of two: what is below is not the arguments.
	copy(memory, []uintptr{2, 1 << 40, 1 << 41, 0, 1 << 42, 0, 0, 23, 1})
	if b := find(memory[7:9]); b.found {
		t.Errorf("find = %+v, want nothing", b)
	}
	if !altered([]uintptr{7, 1 << 40, 23, 1}) || altered([]uintptr{7, 0, 23, 1}) != iscgo {
		t.Error("a loader is not seen, or seen where there is none")
	}
	copy(memory, []uintptr{0, 0, 0, 23, 0}) // neither arguments nor variables
	if b := find(memory[3:5]); !b.found || isSecure(memory[3:5]) || len(b.env) != 0 {
		t.Errorf("find = %+v, want an empty block", b)
	}
}
