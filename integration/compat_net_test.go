package integration

import (
	"strings"
	"testing"
)

const (
	pythonServer = `/usr/bin/python3 - <<'END'
import errno, http.server, threading, urllib.request
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(b"served")
    def log_message(self, *a): pass
try: s = http.server.HTTPServer(("127.0.0.1", 0), H)
except OSError as e: print(errno.errorcode[e.errno])
else:
    threading.Thread(target=s.serve_forever, daemon=True).start()
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    print(direct.open("http://127.0.0.1:%d/" % s.server_port).read())
END
`
	nodeServer = `node - <<'END'
const http = require("http"); const s = http.createServer((q, a) => a.end("served"));
s.on("error", e => console.log(e.code));
			s.listen(0, "127.0.0.1", () => http.get({port: s.address().port, host: "127.0.0.1", agent: false},
  r => { r.on("data", d => console.log(String(d))); r.on("end", () => s.close()); }));
END
`
	pythonDatagram = `/usr/bin/python3 - <<'END'
import errno, socket
try: a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in "ab")
except OSError as e: print(errno.errorcode[e.errno])
else: a.bind(("127.0.0.1", 0)); b.sendto(b"datagram", a.getsockname()); print(a.recv(20))
END
`
	pythonUnix = `/usr/bin/python3 - <<'END'
import errno, os, socket, tempfile
os.chdir(tempfile.mkdtemp())
try: a = socket.socket(socket.AF_UNIX)
except OSError as e: print(errno.errorcode[e.errno])
else: a.bind("s"); a.listen(); b = socket.socket(socket.AF_UNIX); b.connect("s"); print("connected")
END
`
	pythonOwn = `/usr/bin/python3 - <<'END'
import errno, os, socket
here = os.getcwd()
for folder, name in ((here, "s"), (os.environ["TMPDIR"], "s"), (here, "\0brainbox-own-%d" % os.getpid())):
    os.chdir(folder) # a socket's path has 108 bytes
    try: a = socket.socket(socket.AF_UNIX)
    except OSError as e: print(errno.errorcode[e.errno])
    else: a.bind(name); a.listen(); b = socket.socket(socket.AF_UNIX); b.connect(name); print("connected"); os.path.exists("s") and os.unlink("s")
END
`
	goServer = `if CGO_ENABLED=0 go test . >log 2>&1; then echo passed; else echo failed; fi; rm -f log`
	goModule = `printf 'module demo\n\ngo 1.21\n' >go.mod; cat >served_test.go <<'END'
package served

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestServed(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") }))
	defer s.Close()
	r, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if b, err := io.ReadAll(r.Body); err != nil || string(b) != "served" {
		t.Fatal(string(b), err)
	}
	l, err := net.Listen("unix", "s")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}
END
`
	pythonNames = `/usr/bin/python3 -c 'import socket; print(socket.gethostbyname("localhost"))'`
)

// TestCompatLoopback has programs that want a loopback of their own: isolation
// landlock has none to give, so they are refused in a way that they report, and work
// with the host's.
func TestCompatLoopback(t *testing.T) {
	byOneUser(t)
	const refusal = `(EPERM|EACCES)\n`
	host := []string{"--net", "host"}
	sockets := refusal
	if byPath() {
		sockets = "connected\n" // Landlock tells own sockets from the host's
	}
	runCompat(t, []compatCase{
		{
			name: "python server refused", needs: []string{"/usr/bin/python3"},
			script: pythonServer, refused: refusal,
		},
		{
			name: "python server with the host's network", needs: []string{"/usr/bin/python3"},
			script: pythonServer, flags: host,
		},
		{name: "node server refused", needs: []string{"node"}, script: nodeServer, refused: refusal},
		{name: "node server with the host's network", needs: []string{"node"}, script: nodeServer, flags: host},
		{
			name: "datagrams refused", needs: []string{"/usr/bin/python3"},
			script: pythonDatagram, refused: refusal,
		},
		{
			name: "datagrams with the host's network", needs: []string{"/usr/bin/python3"},
			script: pythonDatagram, flags: host,
		},
		{
			name: "own path socket refused", needs: []string{"/usr/bin/python3"},
			script: pythonUnix, refused: sockets,
		},
		{
			name: "own sockets in the checkout, TMPDIR and the abstract names", needs: []string{"/usr/bin/python3"},
			script: pythonOwn, refused: strings.Repeat(sockets, 3),
		},
		{
			name: "go test with a server", needs: []string{"go"}, slow: true,
			setup: goModule, script: goServer, refused: `failed\n`,
		},
		{name: "names of the hosts file", needs: []string{"/usr/bin/python3"}, script: pythonNames},
	})
}
