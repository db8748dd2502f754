package integration

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// deed is one thing that a program tries, and what an explained run has to say of it. {D} is a
// folder of its own, outside of every grant: with the file f, the folders dir (which has one)
// and empty, and the program prog.
type deed struct {
	name  string
	op    string // of the report
	path  string
	dest  string
	right string // one of these; they are about isolation landlock
	flag  string // the remedy
	code  map[string]string
}

// languages are those whose programs try.
var languages = []string{"sh", "python", "node", "go", "c"}

// deeds is what every language tries, as far as it can. The code is an expression or a
// statement of the language, that fails.
func deeds() []deed {
	return []deed{
		{"read", "read", "{D}/f", "", "read_file", "--ro {D}/f", map[string]string{
			"sh": "cat {D}/f >/dev/null", "python": "open('{D}/f')", "node": "fs.readFileSync('{D}/f')",
			"go": openat("{D}/f", unix.O_RDONLY), "c": "read {D}/f",
		}},
		{"list", "read", "{D}/dir", "", "read_dir", "--ro {D}/dir", map[string]string{
			"sh": "ls {D}/dir >/dev/null", "python": "os.listdir('{D}/dir')", "node": "fs.readdirSync('{D}/dir')",
			"go": openat("{D}/dir", unix.O_DIRECTORY), "c": "list {D}/dir",
		}},
		{"write", "write", "{D}/f", "", "write_file", "--rw {D}/f", map[string]string{
			"sh": "echo x >>{D}/f", "python": "os.open('{D}/f', os.O_WRONLY)", "node": "fs.openSync('{D}/f', fs.constants.O_WRONLY)",
			"go": openat("{D}/f", unix.O_WRONLY), "c": "write {D}/f",
		}},
		{"create", "create", "{D}/new", "", "make_reg", "--rw {D}", map[string]string{
			"sh": "echo x >{D}/new", "python": "open('{D}/new', 'x')", "node": "fs.writeFileSync('{D}/new', 'x')",
			"go": openat("{D}/new", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY), "c": "create {D}/new",
		}},
		{"mkdir", "create", "{D}/new", "", "make_dir", "--rw {D}", map[string]string{
			"sh": "mkdir {D}/new", "python": "os.mkdir('{D}/new')", "node": "fs.mkdirSync('{D}/new')",
			"go": call(unix.SYS_MKDIRAT, cwd, "s:{D}/new", 0o755), "c": "mkdir {D}/new",
		}},
		{"mkfifo", "create", "{D}/new", "", "make_fifo", "--rw {D}", map[string]string{
			"sh": "mkfifo {D}/new", "python": "os.mkfifo('{D}/new')", "go": mknodat("{D}/new", unix.S_IFIFO|0o644, 0), "c": "mkfifo {D}/new",
		}},
		{"symlink", "create", "{D}/new", "", "make_sym", "--rw {D}", map[string]string{
			"sh": "ln -s nowhere {D}/new", "python": "os.symlink('nowhere', '{D}/new')", "node": "fs.symlinkSync('nowhere', '{D}/new')",
			"go": call(unix.SYS_SYMLINKAT, "s:nowhere", cwd, "s:{D}/new"), "c": "symlink {D}/new",
		}},
		{"remove", "remove", "{D}/f", "", "remove_file", "--rw {D}", map[string]string{
			"sh": "rm {D}/f", "python": "os.unlink('{D}/f')", "node": "fs.unlinkSync('{D}/f')",
			"go": unlinkat("{D}/f", 0), "c": "remove {D}/f",
		}},
		{"rmdir", "remove", "{D}/empty", "", "remove_dir", "--rw {D}", map[string]string{
			"sh": "rmdir {D}/empty", "python": "os.rmdir('{D}/empty')", "node": "fs.rmdirSync('{D}/empty')",
			"go": unlinkat("{D}/empty", unix.AT_REMOVEDIR), "c": "rmdir {D}/empty",
		}},
		{"truncate", "truncate", "{D}/f", "", "truncate", "--rw {D}/f", map[string]string{
			"python": "os.truncate('{D}/f', 1)", "c": "truncate {D}/f",
		}},
		{"rename", "rename", "{D}/f", "{D}/g", "remove_file make_reg refer", "--rw {D}", map[string]string{
			"sh": "mv -T {D}/f {D}/g", "python": "os.rename('{D}/f', '{D}/g')", "node": "fs.renameSync('{D}/f', '{D}/g')",
			"go": call(unix.SYS_RENAMEAT2, cwd, "s:{D}/f", cwd, "s:{D}/g", 0), "c": "rename {D}/f {D}/g",
		}},
		{"link", "link", "{D}/f", "{D}/g", "make_reg refer", "--rw {D}", map[string]string{
			"sh": "ln {D}/f {D}/g", "python": "os.link('{D}/f', '{D}/g')", "node": "fs.linkSync('{D}/f', '{D}/g')",
			"go": call(unix.SYS_LINKAT, cwd, "s:{D}/f", cwd, "s:{D}/g", 0), "c": "link {D}/f {D}/g",
		}},
		{"exec", "exec", "{D}/prog", "", "execute", "--rox {D}/prog", map[string]string{
			"sh": "{D}/prog", "python": "subprocess.check_call(['{D}/prog'])", "node": "cp.execFileSync('{D}/prog')", "c": "exec {D}/prog",
		}},
	}
}

// special are deeds of one language: by threads and grandchildren, by git, by an interpreter.
func special() []deed {
	in := func(language, code string) map[string]string { return map[string]string{language: code} }
	return []deed{
		{"grandchild-read", "read", "{D}/f", "", "read_file", "--ro {D}/f", in("sh", `sh -c 'sh -c "cat {D}/f; exit \$?" >/dev/null; exit $?'`)},
		{"grandchild-create", "create", "{D}/new", "", "make_reg", "--rw {D}", in("sh", `sh -c 'sh -c "echo x >{D}/new"; exit $?'`)},
		{"background-remove", "remove", "{D}/f", "", "remove_file", "--rw {D}", in("sh", `{ rm {D}/f & wait $!; }`)},
		{"thread-read", "read", "{D}/f", "", "read_file", "--ro {D}/f", in("python", "thread(lambda: open('{D}/f'))")},
		{"thread-mkdir", "create", "{D}/new", "", "make_dir", "--rw {D}", in("python", "thread(lambda: os.mkdir('{D}/new'))")},
		{"child-read", "read", "{D}/f", "", "read_file", "--ro {D}/f", in("python", "subprocess.check_call(['cat', '{D}/f'], stdout=subprocess.DEVNULL)")},
		{"by-descriptor", "read", "{D}/f", "", "read_file", "--ro {D}/f", in("python", "os.open('f', os.O_RDONLY, dir_fd=os.open('{D}', os.O_PATH))")},
		{"by-link", "read", "{D}/f", "", "read_file", "--ro {D}/f", in("python", "through('{D}/f')")},
		{"both", "write", "{D}/f", "", "write_file read_file", "--rw {D}/f", in("c", "both {D}/f")},
		{"thread-create", "create", "{D}/new", "", "make_reg", "--rw {D}", in("c", "create {D}/new")},
		{"thread-remove", "remove", "{D}/f", "", "remove_file", "--rw {D}", in("c", "remove {D}/f")},
		{"promise", "read", "{D}/f", "", "read_file", "--ro {D}/f", in("node", "await fs.promises.readFile('{D}/f')")},
		{"child", "read", "{D}/f", "", "read_file", "--ro {D}/f", in("node", "cp.execFileSync('cat', ['{D}/f'], {stdio: 'ignore'})")},
		{"git-read", "read", "{D}/f", "", "read_file", "--ro {D}/f", in("sh", "git hash-object --no-filters {D}/f >/dev/null")},
		{"git-lock", "create", "{D}/c.lock", "", "make_reg", "--rw {D}", in("sh", "git config -f {D}/c a.b c")},
	}
}

// program writes the text that tries all of a language, each in a folder of its own.
func deedText(language string, list []deed, folder func(*deed) string) string {
	var b strings.Builder
	for i := range list {
		d := &list[i]
		code := strings.ReplaceAll(d.code[language], "{D}", folder(d))
		switch language {
		case "sh":
			fmt.Fprintf(&b, "{ %s; } 2>/dev/null && echo %s ok || echo %s no\n", code, d.name, d.name)
		case "go":
			fmt.Fprintf(&b, "case $(%s %s) in ok*) echo %s ok;; *) echo %s no;; esac\n", program("victim"), code, d.name, d.name)
		case "python":
			fmt.Fprintf(&b, "tries(%q, lambda: %s)\n", d.name, code)
		case "node":
			fmt.Fprintf(&b, "try { %s; console.log('%s ok') } catch (e) { console.log('%s no') }\n", code, d.name, d.name)
		case "c":
			fmt.Fprintf(&b, "%s %s ,\n", d.name, code)
		}
	}
	return map[string]string{"python": pythonHead, "node": nodeHead}[language] + b.String() + map[string]string{"node": "})()\n"}[language]
}

const pythonHead = `import os, subprocess, threading
def tries(name, f):
    try:
        f()
        print(name, 'ok')
    except (OSError, subprocess.CalledProcessError):
        print(name, 'no')
def thread(f):
    failed = []
    def run():
        try: f()
        except OSError as e: failed.append(e)
    t = threading.Thread(target=run)
    t.start()
    t.join()
    if failed: raise failed[0]
def through(path):
    if not os.path.islink('l'): os.symlink(path, 'l')
    open('l')
`

const nodeHead = "const fs = require('fs'), cp = require('child_process');\n(async () => {\n"
