package integration

import (
	"os/exec"
	"testing"
)

const (
	pythonModules = `
import ssl, sqlite3, json, ctypes, hashlib, zlib, lzma, bz2, decimal, asyncio, locale, curses, readline
import platform, pwd, grp, socket, select
ssl.create_default_context()
print(platform.freedesktop_os_release()["ID"], pwd.getpwuid(0).pw_name, hashlib.sha256(b"x").hexdigest()[:8])
db = sqlite3.connect("data.db")
for sql in "pragma journal_mode=wal", "create table t(x)", "insert into t values (7)": db.execute(sql)
db.commit()
print(db.execute("select x from t").fetchall())
db.close()
print(locale.setlocale(locale.LC_ALL, ""), locale.getpreferredencoding())`

	pythonProcesses = `
import concurrent.futures as cf, os, signal, subprocess, tempfile, threading
print(subprocess.run(["cat", "README"], capture_output=True, text=True).stdout)
print(subprocess.check_output("echo $((6*7))", shell=True, text=True))
p = subprocess.Popen(["sleep", "60"], start_new_session=True)
os.killpg(p.pid, signal.SIGTERM)
print(p.wait())
try: subprocess.run(["sleep", "60"], timeout=0.2)
except subprocess.TimeoutExpired: print("timeout")
out = []
threads = [threading.Thread(target=out.append, args=(i,)) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(out))
with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile(dir=d) as f:
    f.write(b"x"); f.flush()
    print(os.path.getsize(f.name))
with cf.ThreadPoolExecutor() as e: print(list(e.map(abs, [-1, -2])))
r, w = os.pipe()
pid = os.fork()
if pid == 0: os.write(w, b"child"); os._exit(3)
print(os.read(r, 9), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(len(os.sched_getaffinity(0)) > 0, os.getpgid(0) > 0)`

	pythonPool = `
import multiprocessing as mp, multiprocessing.shared_memory as sm, sys
def square(x): return x * x
def child(q, l, v):
    with l: v.value += 1
    q.put("from child")
if __name__ == "__main__":
    ctx = mp.get_context(sys.argv[1])
    with ctx.Pool(2) as p: print(p.map(square, range(5)))
    q, l, v = ctx.Queue(), ctx.Lock(), ctx.Value("i", 1)
    p = ctx.Process(target=child, args=(q, l, v)); p.start()
    print(q.get()); p.join(); print(p.exitcode, v.value)
    a, b = ctx.Pipe(); a.send({"k": 1}); print(b.recv())
    s = sm.SharedMemory(create=True, size=64); s.buf[0] = 9
    t = sm.SharedMemory(s.name); print(t.buf[0]); t.close(); s.close(); s.unlink()`

	pythonAsync = `
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("cat", "README", stdout=asyncio.subprocess.PIPE)
    print((await p.communicate())[0], p.returncode)
    print(await asyncio.gather(*(asyncio.to_thread(abs, -i) for i in range(3))))
    await asyncio.wait_for(asyncio.sleep(0), 5)
asyncio.run(main())`

	pythonTime = `
import datetime, locale, os, time, zoneinfo
print(locale.setlocale(locale.LC_ALL, ""), "ä".encode(), time.tzname)
os.environ["TZ"] = "Asia/Tokyo"
time.tzset()
print(time.strftime("%H %Z", time.localtime(0)))
print(datetime.datetime.fromtimestamp(0, zoneinfo.ZoneInfo("America/New_York")).isoformat())`

	pythonTest = `
import unittest, tempfile, pathlib
class T(unittest.TestCase):
    def test_files(self):
        with tempfile.TemporaryDirectory() as d:
            p = pathlib.Path(d) / "f"; p.write_text("x")
            self.assertEqual(p.rename(p.with_name("g")).read_text(), "x")`

	pythonFiles = `
import fcntl, mmap, os, shutil, stat
shutil.copytree(".", "copy", ignore=shutil.ignore_patterns(".git", "copy"))
print(sorted(os.listdir("copy")), shutil.disk_usage(".").total > 0)
shutil.copy2("README", "r2"); shutil.move("r2", "copy/r3")
os.symlink("README", "l"); os.link("README", "h")
print(os.stat("h").st_nlink, os.path.realpath("l") == os.path.realpath("README"))
os.chmod("h", 0o600); os.utime("h", (1, 2))
print(stat.filemode(os.stat("h").st_mode), os.stat("h").st_mtime)
with open("m", "w+b") as f:
    f.write(b"0" * 4096); f.flush()
    m = mmap.mmap(f.fileno(), 0); m[0:1] = b"1"; m.flush()
    fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX)
    os.posix_fallocate(f.fileno(), 0, 8192); os.fsync(f.fileno()); m.close()
print(os.path.getsize("m"), sorted(e.name for e in os.scandir("copy")))
shutil.rmtree("copy"); os.mkfifo("p"); os.remove("p"); os.replace("m", "n")
fd = os.memfd_create("x"); os.write(fd, b"y")
c = os.open("c", os.O_CREAT | os.O_WRONLY)
print(os.pread(fd, 1, 0), os.copy_file_range(os.open("README", os.O_RDONLY), c, 9))`
)

func TestCompatPython(t *testing.T) {
	byOneUser(t)
	var cases []compatCase
	pythons := []string{"/usr/bin/python3"}
	// A version manager's python3 is a shell script in the home folder.
	if first, err := exec.LookPath("python3"); err == nil && first != pythons[0] {
		pythons = append(pythons, "python3")
	}
	for _, python := range pythons {
		for _, c := range pythonCases(python) {
			c.name, c.needs = python+" "+c.name, append(c.needs, python)
			cases = append(cases, c)
		}
	}
	runCompat(t, cases)
}

func pythonCases(python string) []compatCase {
	run := func(script string) string { return python + " - <<'END'" + script + "\nEND\n" }
	file := func(name, script string) string { return "cat >" + name + " <<'END'" + script + "\nEND\n" }
	return []compatCase{
		{name: "modules", script: run(pythonModules), differs: true},
		{name: "processes and threads", script: run(pythonProcesses)},
		{
			name:   "multiprocessing",
			script: file("mp.py", pythonPool) + python + ` mp.py fork; ` + python + ` mp.py spawn`,
		},
		{name: "asyncio", script: run(pythonAsync)},
		{name: "locale and time", script: run(pythonTime)},
		{name: "venv", slow: true, noisy: true, script: python + ` -m venv env
			env/bin/python -c 'import sys, os; print(os.path.relpath(sys.prefix))'
			env/bin/pip --version | cut -d' ' -f1; env/bin/pip list --format=freeze | cut -d= -f1 | sort
			. env/bin/activate; python -c 'import pip; print("activated")'; rm -rf env`},
		{
			name: "unittest", differs: true,
			script: file("test_x.py", pythonTest) + python + ` -m unittest 2>&1 | tail -1
			` + python + ` -m py_compile test_x.py; ls`,
		},
		{name: "files", script: run(pythonFiles)},
	}
}
