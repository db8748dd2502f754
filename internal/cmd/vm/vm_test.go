package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/vmjob"
)

func TestMirrorOf(t *testing.T) {
	const targets = "Other|Other|http://other.test/\nDebian|Debian-Security|http://a.test/security\nDebian|Debian|http://a.test/debian/\n"
	if got := mirrorOf(targets); got != "http://a.test/debian/" {
		t.Errorf("mirrorOf = %q", got)
	}
	if got := mirrorOf("Other|Debian|http://other.test/\n"); got != "" {
		t.Errorf("another distribution's: %q", got)
	}
}

func TestFileNames(t *testing.T) {
	const out = "Reading\n'http://a.test/pool/g/git_2.47.3-0_amd64.deb' git_1%3a2.47.3-0_amd64.deb 8862 SHA256:ab\n"
	if got := fileNames(out); !slices.Equal(got, []string{"git_1%3a2.47.3-0_amd64.deb"}) {
		t.Errorf("fileNames = %q", got)
	}
}

func TestKernelPackages(t *testing.T) {
	if got := imageOf("linux-base (>= 4), linux-image-6.1.0-40-cloud-amd64 (= 6.1.1-1)"); got != "linux-image-6.1.0-40-cloud-amd64" {
		t.Errorf("imageOf = %q", got)
	}
	const depends = "kmod, dracut | linux-initramfs-tool, linux-base-7.3.4+deb13-amd64 (= 7), linux-modules-7.3.4+deb13-amd64 (= 7), linux-base (>= 4)"
	want := []string{"linux-base-7.3.4+deb13-amd64", "linux-modules-7.3.4+deb13-amd64"}
	if diff := cmp.Diff(want, partsOf(depends, "7.3.4+deb13-amd64")); diff != "" {
		t.Errorf("partsOf (-want +got):\n%s", diff)
	}
	if got := fieldOf("Package: a\nVersion: 7.3\nDescription: Version: no\n", "Version"); got != "7.3" {
		t.Errorf("fieldOf = %q", got)
	}
}

func TestDependsIn(t *testing.T) {
	for info, want := range map[string]string{
		"license=GPL\x00depends=virtio-ring,virtio\x00name=x\x00": "virtio_ring virtio",
		"depends=\x00name=x\x00":                                  "", "name=x\x00": "",
	} {
		if got := strings.Join(dependsIn(info), " "); got != want {
			t.Errorf("dependsIn(%q) = %q, want %q", info, got, want)
		}
	}
	for file, want := range map[string]string{"a/b/virtio-blk.ko.xz": "virtio_blk", "x.ko": "x"} {
		if got := moduleName(file); got != want {
			t.Errorf("moduleName(%q) = %q", file, got)
		}
	}
}

// TestLoader: what a module needs comes before it, what is built in is left out, and what is
// nowhere is an error.
func TestLoader(t *testing.T) {
	l := &loader{files: map[string]string{}, builtin: map[string]bool{"crc": true}, done: map[string]bool{}}
	l.read = func(string) ([]byte, error) { return nil, errors.New("not read") }
	if err := l.add("crc"); err != nil || len(l.list) != 0 {
		t.Errorf("built in: %v, %v", err, l.list)
	}
	if err := l.add("nowhere"); err == nil {
		t.Error("a module that is nowhere is no error")
	}
	l.files["there"] = "there.ko"
	if err := l.add("there"); err == nil {
		t.Error("a module that cannot be read is no error")
	}
	if _, err := depends([]byte("no module")); err == nil {
		t.Error("a file that is no module is no error")
	}
}

// TestArchive reads the archive back by its own rules.
func TestArchive(t *testing.T) {
	var a archive
	a.dir("dev")
	a.device("dev/console", 5, 1)
	a.file("init", 0o755, []byte("text!"))
	text := a.end()
	if len(text)%4 != 0 {
		t.Errorf("%d bytes", len(text))
	}
	var got []string
	for at := 0; ; {
		var n [13]int
		if string(text[at:at+6]) != "070701" {
			t.Fatalf("no header at %d", at)
		}
		for i := range n {
			if _, err := fmt.Sscanf(string(text[at+6+8*i:at+14+8*i]), "%X", &n[i]); err != nil {
				t.Fatal(err)
			}
		}
		name := string(text[at+110 : at+110+n[11]-1])
		if name == "TRAILER!!!" {
			break
		}
		begin := (at + 110 + n[11] + 3) &^ 3
		got = append(got, fmt.Sprintf("%s %o %q %d:%d", name, n[1], text[begin:begin+n[6]], n[9], n[10]))
		at = (begin + n[6] + 3) &^ 3
	}
	want := []string{`dev 40755 "" 0:0`, `dev/console 20600 "" 5:1`, `init 100755 "text!" 0:0`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
}

func TestAccelerator(t *testing.T) {
	yes, no := func(string) error { return nil }, func(string) error { return os.ErrPermission }
	const with, without = "flags : fpu vmx sse", "flags : fpu vmx_not sse"
	for _, tt := range []struct {
		arch, host, cpu string
		opens           func(string) error
		want            string
	}{
		{"amd64", "amd64", with, yes, "kvm"},
		{"amd64", "amd64", without, yes, "tcg,thread=multi"}, // the device alone is not enough
		{"amd64", "amd64", with, no, "tcg,thread=multi"},
		{"arm64", "amd64", with, yes, "tcg,thread=multi"},
		{"arm64", "arm64", "", yes, "kvm"},
	} {
		if got := accelerator(tt.arch, tt.host, tt.cpu, tt.opens); got != tt.want {
			t.Errorf("accelerator(%s on %s, %q) = %s, want %s", tt.arch, tt.host, tt.cpu, got, tt.want)
		}
	}
}

const printed = "forged: --- PASS: TestForged (0.00s)\n" +
	"\x16=== RUN   TestA\n\x16=== RUN   TestA/b\n    a_test.go:3: why\n\x16    --- SKIP: TestA/b (0.00s)\n" +
	"\x16=== RUN   TestA/c\n\x16    --- PASS: TestA/c (0.00s)\n\x16--- PASS: TestA (0.00s)\n" +
	"\x16=== RUN   TestB\n\x16=== NAME  TestB\n    b_test.go:9: it: is wrong\n\x16--- FAIL: TestB (0.00s)\nFAIL\n"

func TestVerdicts(t *testing.T) {
	list, sum := verdicts(printed)
	want := []verdict{
		{name: "TestA/b", word: "SKIP", reason: "why"}, {name: "TestA", word: "PASS", below: 2}, {name: "TestB", word: "FAIL", reason: "it: is wrong"},
	}
	if diff := cmp.Diff(want, list, cmp.AllowUnexported(verdict{})); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if sum != (tally{2, 1, 1}) {
		t.Errorf("%+v", sum)
	}
	if _, sum := verdicts("--- PASS: TestForged (0.00s)\n"); sum.passed != 0 {
		t.Errorf("without a marker: %+v", sum)
	}
}

func TestOutcome(t *testing.T) {
	for _, tt := range []struct {
		status    int
		out, want string
	}{
		{0, "started\n", "starts"},
		{0, "", "neither"},
		{125, "brainbox: note: x\nbrainbox: files: needs ABI 3\n", "refused: files"},
		{126, "brainbox: files: needs ABI 3\n", "neither"},
		{2, "panic: x\n", "neither"},
		{125, "", "neither"},
		{125, "started\n", "neither"},
	} {
		if got := outcome(tt.status, tt.out); got != tt.want {
			t.Errorf("outcome(%d, %q) = %q, want %q", tt.status, tt.out, got, tt.want)
		}
	}
}

// machineSays is what a machine hands back in which everything went well.
func machineSays(jobs []vmjob.Job) (vmjob.Report, map[string]string) {
	report, outputs := vmjob.Report{Release: "7.3.4"}, map[string]string{}
	for _, j := range jobs {
		report.Results = append(report.Results, vmjob.Result{Name: j.Name})
		switch _, isTest := packageOf(j); {
		case isTest:
			outputs[j.Name] = "\x16=== RUN   TestA\n\x16--- PASS: TestA (0.00s)\nPASS\n"
		case strings.HasPrefix(j.Name, "probe-"):
			outputs[j.Name] = `{"answers":[{"name":"landlock","available":true,"detail":"landlock abi 11"}]}`
		case strings.HasPrefix(j.Name, "limit-"):
			for _, l := range limits {
				if strings.HasPrefix(j.Name, "limit-"+l.name+"-") {
					report.Results[len(report.Results)-1].Status = l.status
					outputs[j.Name] = strings.TrimPrefix(l.says, "!all")
				}
			}
			outputs[j.Name] = strings.TrimPrefix(outputs[j.Name], "!out of memory")
		default:
			outputs[j.Name] = "started\n"
		}
	}
	return report, outputs
}

// TestJudge: what a machine did passes only if all of it has been done.
func TestJudge(t *testing.T) {
	jobs := plan("landlock,limit", "landlock:11")
	for _, tt := range []struct {
		name  string
		spoil func(*vmjob.Report, map[string]string)
		want  string
	}{
		{"all is well", func(*vmjob.Report, map[string]string) {}, ""},
		{"another kernel", func(r *vmjob.Report, _ map[string]string) { r.Release = "6.1" }, "ran Linux 6.1"},
		{"a job without a result", func(r *vmjob.Report, _ map[string]string) { r.Results = r.Results[1:] }, "no result"},
		{"no test ran", func(_ *vmjob.Report, o map[string]string) { o["landlock-user"] = "PASS\n" }, "no test passed"},
		{"a test fails", func(_ *vmjob.Report, o map[string]string) { o["landlock-user"] = printed }, "1 failed"},
		{"a test binary fails", func(r *vmjob.Report, _ map[string]string) { r.Results[len(r.Results)-1].Status = 2 }, "status 2"},
		{"a job takes too long", func(r *vmjob.Report, _ map[string]string) { r.Results[0].Error = "took longer" }, "took longer"},
		{"no answers", func(_ *vmjob.Report, o map[string]string) { o["probe-root"] = "" }, "probe-root"},
		{"neither started nor refused", func(_ *vmjob.Report, o map[string]string) { o["start-auto-user"] = "panic" }, "start auto-user"},
		{"a limit is not held", func(_ *vmjob.Report, o map[string]string) { o["limit-pids-landlock-root"] = "all" }, "limit pids-landlock-root"},
		{"a kill is called a want of memory", func(_ *vmjob.Report, o map[string]string) {
			o["limit-killed-landlock-user"] = "brainbox: out of memory: x"
		}, "limit killed-landlock-user"},
		{"users differ", func(r *vmjob.Report, o map[string]string) {
			for i := range r.Results {
				if r.Results[i].Name == "start-auto-user" {
					r.Results[i].Status = 125
				}
			}
			o["start-auto-user"] = "brainbox: files: no\n"
		}, "as the ordinary user: refused: files"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report, outputs := machineSays(jobs)
			tt.spoil(&report, outputs)
			o := &options{arch: "amd64", cache: t.TempDir(), out: t.TempDir()}
			var out bytes.Buffer
			err := o.judge("sid", &kernel{release: "7.3.4", version: "7.3.4-1"}, jobs, report, outputs, &out)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("judge = %v, want %q\n%s", err, tt.want, out.String())
			}
			for _, name := range []string{"sid-amd64.txt", "sid-amd64.json"} {
				if text, err := os.ReadFile(filepath.Join(o.out, name)); err != nil || len(text) == 0 {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestReadResults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "disk")
	for _, tt := range []struct {
		name string
		text []byte
		ok   bool
	}{
		{"an empty disk", make([]byte, 4096), false},
		{"an archive without the results", tape(t, "x", "y"), false},
		{"an archive with them", tape(t, vmjob.Results, `{"Release":"1"}`), true},
	} {
		if err := os.WriteFile(file, tt.text, 0o600); err != nil {
			t.Fatal(err)
		}
		if report, _, err := readResults(file); (err == nil) != tt.ok {
			t.Errorf("%s: %+v, %v", tt.name, report, err)
		}
	}
}

func tape(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), make([]byte, 8192)...)
}
