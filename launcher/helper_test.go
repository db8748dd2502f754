package launcher

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
	"brainbox/internal/version"
	"brainbox/seccomp"
)

func TestOpenHelperRefuses(t *testing.T) {
	top := resolved(t.TempDir())
	good := mkdir(t, top+"/good", 0o755, -1)
	put := func(dir, name string, mode uint32) {
		t.Helper()
		write(t, dir+"/"+name, "")
		if err := unix.Chmod(dir+"/"+name, mode); err != nil {
			t.Fatal(err)
		}
	}
	put(good, "ok", 0o755)
	put(good, "group", 0o775)
	put(good, "others", 0o757)
	open := mkdir(t, top+"/open", 0o755, -1)
	put(open, "ok", 0o755)
	mkdir(t, open, 0o777, -1)
	if err := os.Symlink("ok", good+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(good+"/fifo", 0o700); err != nil {
		t.Fatal(err)
	}
	mkdir(t, good+"/folder", 0o755, -1)
	for _, c := range [][2]string{{good, "group"}, {good, "others"}, {good, "link"}, {good, "fifo"}, {good, "folder"}, {open, "ok"}} {
		within(t, c[1], func() {
			f, err := openHelper(c[0], c[1])
			var r *Refusal
			if err == nil {
				_ = f.Close()
				t.Errorf("%q was opened", c)
			} else if !errors.As(err, &r) || r.Status != StatusRefused || r.Hint == "" {
				t.Errorf("%q: %v, want a refusal with a hint", c, err)
			}
		})
	}
	for _, c := range [][2]string{{good, "missing"}, {top + "/missing", "ok"}} {
		if _, err := openHelper(c[0], c[1]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v, want one that says it does not exist", c, err)
		}
	}
	f, err := openHelper(good, "ok") // positive control
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
}

func TestOpenHelperOfAnotherOwner(t *testing.T) {
	needs.Root(t)
	dir := mkdir(t, resolved(t.TempDir())+"/d", 0o755, 0)
	write(t, dir+"/helper", "")
	if err := os.Chown(dir+"/helper", 12345, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := openHelper(dir, "helper"); err == nil {
		t.Error("a file of another user was opened")
	}
	if err := errors.Join(os.Chown(dir+"/helper", 0, 0), os.Chown(dir, 12345, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := openHelper(dir, "helper"); err == nil {
		t.Error("a file in a folder of another user was opened")
	}
}

func TestOpenSiblingThatIsMissing(t *testing.T) {
	_, err := openSibling("brainbox-no-such-helper")
	var r *Refusal
	if !errors.As(err, &r) || r.Status != StatusRefused || !strings.Contains(r.Message, "brainbox-no-such-helper") {
		t.Errorf("%v, want a refusal that names it", err)
	}
}

// answer makes what brainbox-seccomp would print.
func compiled(protocol int, vers, bpf string) []byte {
	return fmt.Appendf(nil, `{"protocol":%d,"version":%q,"bpf":%q,"dropped":["no_such_call"]}`, protocol, vers, bpf)
}

func encode(p seccomp.Program) string { return base64.StdEncoding.EncodeToString(p.Bytes()) }

// refusing is the default filter with one more rule in front: call nr is refused.
func refusing(nr uint32) seccomp.Program {
	return append(seccomp.Program{
		{Code: 0x20, K: 0}, // ld [nr]
		{Code: 0x15, Jt: 0, Jf: 1, K: nr},
		{Code: 0x06, K: uint32(seccomp.Errno(1))},
	}, ownFilter()...)
}

func TestReadCompiledRefuses(t *testing.T) {
	v := version.String()
	good := encode(ownFilter())
	for name, text := range map[string][]byte{
		"nothing":               nil,
		"no JSON":               []byte("BPF"),
		"two answers":           append(compiled(1, v, good), compiled(1, v, good)...),
		"another protocol":      compiled(2, v, good),
		"another version":       compiled(1, v+"x", good),
		"no filter":             compiled(1, v, ""),
		"no base64":             compiled(1, v, "%%%"),
		"half an instruction":   compiled(1, v, base64.StdEncoding.EncodeToString([]byte{1, 2, 3})),
		"no program":            compiled(1, v, base64.StdEncoding.EncodeToString(make([]byte, 64))),
		"one that allows all":   compiled(1, v, encode(seccomp.Program{{Code: 0x06, K: 0x7fff0000}})),
		"one that refuses all":  compiled(1, v, encode(seccomp.Program{{Code: 0x06, K: uint32(seccomp.Errno(1))}})),
		"one without execve":    compiled(1, v, encode(refusing(unix.SYS_EXECVE))),
		"one without exit":      compiled(1, v, encode(refusing(unix.SYS_EXIT_GROUP))),
		"one that loops":        compiled(1, v, encode(seccomp.Program{{Code: 0x05, K: 0xffffffff}})),
		"a key of another type": []byte(strings.Replace(string(compiled(1, v, good)), `["no_such_call"]`, `7`, 1)),
	} {
		if got, err := readCompiled(text); err == nil {
			t.Errorf("%s: accepted, %d instructions", name, len(got.Program))
		}
	}
	got, err := readCompiled(compiled(1, v, good)) // positive control
	if err != nil || len(got.Program) != len(ownFilter()) || len(got.Dropped) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// linted makes what brainbox-seccomp --lint would print.
func linted(protocol int, vers, findings, wider string) []byte {
	return fmt.Appendf(nil, `{"protocol":%d,"version":%q,"arch":"amd64","libseccomp":"2.5.4","form":"oci","judged":"brainbox",`+
		`"findings":[%s],"wider":[%s],"narrower":[],"partial":["socket"]}`, protocol, vers, findings, wider)
}

const (
	lintedFinding = `{"rule":"clone3","severity":"error","place":"syscalls[0].names[1]","message":"m","why":"w","hint":"h"}`
	lintedChange  = `{"call":"ioctl","some":true,"example":"0x0, 0x5412"}`
)

func TestReadLintRefuses(t *testing.T) {
	v := version.String()
	for name, text := range map[string][]byte{
		"nothing":            nil,
		"two answers":        append(linted(1, v, "", ""), linted(1, v, "", "")...),
		"another protocol":   linted(2, v, "", ""),
		"another version":    linted(1, v+"x", "", ""),
		"no severity":        linted(1, v, strings.Replace(lintedFinding, `"error"`, `"fatal"`, 1), ""),
		"a finding cut off":  linted(1, v, `{"rule":"clone3"}`, ""),
		"a change cut off":   linted(1, v, "", `{"call":"ioctl"}`),
		"the other's answer": compiled(1, v, encode(ownFilter())),
	} {
		if got, err := readLint(text); err == nil {
			t.Errorf("%s: accepted, %+v", name, got)
		}
	}
	got, err := readLint(linted(1, v, lintedFinding+","+lintedFinding, lintedChange)) // positive control
	if err != nil || got.Count("error") != 2 || got.Count("note") != 0 || got.Findings[0].Remedy != "h" ||
		len(got.Wider) != 1 || !got.Wider[0].Some || len(got.Partial) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzReadLint(f *testing.F) {
	f.Add(linted(1, version.String(), lintedFinding, lintedChange))
	f.Add([]byte(`{"protocol":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := readLint(text)
		if err == nil && got.Count("error")+got.Count("warning")+got.Count("note") != len(got.Findings) {
			t.Errorf("a finding of no severity came through from %q", text)
		}
	})
}

func FuzzReadCompiled(f *testing.F) {
	f.Add(compiled(1, version.String(), encode(ownFilter())))
	f.Add([]byte(`{"protocol":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := readCompiled(text)
		if err == nil && seccomp.Check(got.Program) != nil {
			t.Errorf("an unchecked program came through from %q", text)
		}
	})
}

func TestCompileProfileRefusesWhatIsNoProfile(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/huge", "")
	if err := os.Truncate(dir+"/huge", maxProfile+1); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir + "/missing", dir, dir + "/huge", dir + "/fifo"} {
		within(t, name, func() {
			_, err := CompileProfile(name)
			var r *Refusal
			if !errors.As(err, &r) || r.Status != StatusRefused || r.Clause != "seccomp" {
				t.Errorf("%q: %v, want a refusal of the clause seccomp", name, err)
			}
		})
	}
}

func TestHelperLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "brainbox-seccomp: bad\nbrainbox-seccomp: hint: x\n": "bad", "panic: x\n": "panic: x",
	} {
		if got := helperLine([]byte(in)); got != want {
			t.Errorf("helperLine(%q) = %q, want %q", in, got, want)
		}
	}
}
