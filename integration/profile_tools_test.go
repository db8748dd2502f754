package integration

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"brainbox/internal/needs"
)

// withProfile runs the cases in a profile.
func withProfile(t *testing.T, name string, cases []compatCase, programs ...string) {
	t.Helper()
	byOneUser(t)
	for i := range cases {
		cases[i].flags = append([]string{"--profile", name}, cases[i].flags...)
		cases[i].needs = append(cases[i].needs, programs...)
	}
	runCompat(t, cases)
}

func TestProfileNode(t *testing.T) {
	const dependency = `mkdir -p libs/dep
echo '{"name": "dep", "version": "1.0.0", "main": "i.js"}' >libs/dep/package.json
echo 'module.exports = 5' >libs/dep/i.js
echo 'const t = require("node:test"), a = require("assert"); t("five", () => a.equal(require("dep"), 5))' >five.test.js
`
	withProfile(t, "node", []compatCase{
		{
			name: "init, install a local dependency, test", setup: dependency,
			script: `npm init -y >/dev/null; npm pkg set scripts.test='node --test >out 2>&1 && grep -c "^. pass 1" out'
			npm install --silent --no-audit --no-fund ./libs/dep; npm test --silent; rm out; npm ls --silent --parseable | wc -l`,
		},
	}, "node", "npm")
}

func TestProfilePython(t *testing.T) {
	// The package brings its own way to be built, so that nothing has to be fetched for it.
	const source = `mkdir demo
cat >demo/pyproject.toml <<'END'
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
END
cat >demo/backend.py <<'END'
import io, tarfile, zipfile
FILES = {"demo_five.py": "FIVE = 5\n"}
INFO = {"METADATA": "Metadata-Version: 2.1\nName: demo-five\nVersion: 1.0\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "RECORD": ""}
def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "demo_five-1.0-py3-none-any.whl"
    with zipfile.ZipFile(folder + "/" + name, "w") as z:
        for file, text in FILES.items(): z.writestr(file, text)
        for file, text in INFO.items(): z.writestr("demo_five-1.0.dist-info/" + file, text)
    return name
END
cat >test_five.py <<'END'
import unittest, demo_five
class T(unittest.TestCase):
    def test_five(self): self.assertEqual(demo_five.FIVE, 5)
END
`
	const python = "/usr/bin/python3"
	withProfile(t, "python", []compatCase{
		{
			name: "venv, install from source and from a wheel, unittest", slow: true, noisy: true, differs: true, setup: source,
			script: python + ` -m venv env; pip="env/bin/pip install -q --no-index --disable-pip-version-check"
			$pip ./demo; env/bin/python -m unittest 2>&1 | tail -1; env/bin/pip uninstall -qy demo-five
			(cd demo; python3 -c 'import backend; print(backend.build_wheel("."))'); $pip demo/*.whl
			env/bin/python -c 'import demo_five; print(demo_five.FIVE)'; rm -rf env demo`,
		},
		{name: "unittest", setup: source, script: `cd demo; PYTHONDONTWRITEBYTECODE=1 ` + python + ` - <<'END'
import unittest
class T(unittest.TestCase):
    def test(self): self.assertEqual(__import__("backend").FILES["demo_five.py"], "FIVE = 5\n")
print(unittest.main(argv=["x"], exit=False).result.wasSuccessful())
END
`, noisy: true},
	}, python)
}

func TestProfileGo(t *testing.T) {
	const module = `printf 'module demo\n\ngo 1.21\n' >go.mod
printf 'package main\n\nfunc five() int { return 5 }\n\nfunc main() { println("main", five()) }\n' >main.go
cat >main_test.go <<'END'
package main

import "testing"

func TestFive(t *testing.T) {
	if five() != 5 {
		t.Fatal("not five")
	}
}
END
`
	// A package that imports nothing is built with the private cache, which is empty. All else
	// shares one cache, in which the first bare run builds what is needed of the standard
	// library: that takes minutes on a small machine. The process id makes each run compile its
	// own package, and -count=1 run its test.
	cache := t.TempDir()
	shared := []string{"--rw", cache}
	offline := "export GOFLAGS=-mod=mod GOPROXY=off\n" +
		"mkdir leaf; echo 'package leaf; const Five = 5' >leaf/five.go; go build ./leaf; rm -r leaf\n" +
		"export GOCACHE='" + cache + "'; printf 'package main\n\nconst run = %d\n' $$ >run.go\n"
	cases := []compatCase{{
		name: "a module without dependencies", setup: module, slow: true, flags: shared,
		script: offline + `go build -o demo .; ./demo 2>&1; go test -count=1 -vet=off . | cut -f1,2; rm demo run.go`,
	}}
	if dep := cached(t); dep != "" {
		cases = append(cases, compatCase{
			name: "a module with a dependency in the module cache", setup: module + dep, slow: true, flags: shared,
			script: offline + `go build -o demo .; ./demo 2>&1; go list -m -f '{{.Path}}' all; rm demo run.go`,
		})
	}
	withProfile(t, "go", cases, "go")
}

// cached is a script that makes a module depend on what this module depends on too, and so
// is in the module cache of whoever built these tests. It is empty where the sources are not, and
// where that cache is not the one of the home folder, which alone the profile grants.
func cached(t *testing.T) string {
	t.Helper()
	cache, err := exec.Command(needs.Program(t, "go"), "env", "GOMODCACHE").Output()
	must(t, err)
	if strings.TrimSpace(string(cache)) != os.Getenv("HOME")+"/go/pkg/mod" {
		return ""
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		return ""
	}
	sum, err := os.ReadFile("../go.sum")
	must(t, err)
	version := regexp.MustCompile(`golang\.org/x/sys (v\S+)`).FindSubmatch(mod)
	lines := regexp.MustCompile(`(?m)^golang\.org/x/sys `+regexp.QuoteMeta(string(version[1]))+`.*\n`).FindAll(sum, -1)
	script := "echo 'require golang.org/x/sys " + string(version[1]) + "' >>go.mod\ncat >go.sum <<'END'\n"
	for _, line := range lines {
		script += string(line)
	}
	return script + `END
printf 'package main\n\nimport "golang.org/x/sys/unix"\n\nfunc init() { println(unix.EPERM.Error()) }\n' >dep.go
`
}

func TestProfileRust(t *testing.T) {
	withProfile(t, "rust", []compatCase{{
		name: "cargo with a dependency by path", noisy: true,
		setup: `mkdir -p dep/src src
printf '[package]\nname = "dep"\nversion = "0.1.0"\nedition = "2021"\n' >dep/Cargo.toml
printf 'pub fn five() -> i32 { 5 }\n' >dep/src/lib.rs
printf '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\ndep = { path = "dep" }\n' >Cargo.toml
cat >src/main.rs <<'END'
fn main() { println!("{}", dep::five()); }
#[test]
fn five() { assert_eq!(dep::five(), 5); }
END
`,
		script: `cargo build -q --offline; ./target/debug/demo; cargo test -q --offline 2>&1 | grep -o 'test result: ok' | head -1
		cargo tree -q --offline --prefix none | cut -d' ' -f1,2; rm -r target`,
	}}, "cargo")
}

func TestProfileOfflineBuild(t *testing.T) {
	const source = `cat >Makefile <<'END'
all: demo ; ./demo
demo: main.o five.o ; $(CC) -o $@ $^
.PHONY: all
END
printf 'int five(void) { return 5; }\n' >five.c
printf '#include <stdio.h>\nint five(void);\nint main(void) { printf("%%d\\n", five()); return 0; }\n' >main.c
`
	withProfile(t, "offline-build", []compatCase{
		{name: "make and cc", setup: source, differs: true, needs: []string{"cc", "make"}, script: `make -s; touch five.c; make -s -j2`},
		{name: "localhost has an address", needs: []string{"getent"}, script: `getent hosts localhost | tr -s ' ' | cut -d' ' -f2`},
		{
			name:    "no name of another host",
			script:  `cat /etc/resolv.conf >/dev/null 2>&1 && echo known || echo refused`,
			refused: `refused\n`, ns: `refused\n`,
		},
	})
}
