package integration

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
)

// serveRepository has both web servers serve a repository below /git by git's own
// git-http-backend(1).
func (p *proxyWorld) serveRepository(t *testing.T) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		return // the cases that need it are left out
	}
	repo := filepath.Join(p.dir("O"), "git", "repo")
	must(t, os.MkdirAll(repo, 0o755))
	outside(t, repo, gitIdentity+`git init -q -b main .; printf '`+strings.TrimSpace(canaryText)+`\n' >f; git add f; git commit -qm first`)
	for _, s := range []*webServer{p.web, p.secure} {
		s.handler.Handle("/git/", &cgi.Handler{
			Path: git, Args: []string{"http-backend"}, Root: "/git", Stderr: io.Discard,
			Env: []string{
				"GIT_PROJECT_ROOT=" + filepath.Dir(repo), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1",
				"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
			},
		})
	}
}

// servePackage has the web server be a registry of npm's with one package.
func (p *proxyWorld) servePackage(t *testing.T) {
	t.Helper()
	var file bytes.Buffer
	zipped := gzip.NewWriter(&file)
	archive := tar.NewWriter(zipped)
	for name, text := range map[string]string{
		"package/package.json": `{"name": "tiny", "version": "1.0.0", "main": "i.js"}`, "package/i.js": `console.log("tiny works")`,
	} {
		must(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, err := io.WriteString(archive, text)
		must(t, err)
	}
	must(t, archive.Close())
	must(t, zipped.Close())
	sum := sha512.Sum512(file.Bytes())
	p.web.handler.HandleFunc("/npm/tiny", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": "tiny", "dist-tags": map[string]string{"latest": "1.0.0"},
			"versions": map[string]any{"1.0.0": map[string]any{"name": "tiny", "version": "1.0.0", "main": "i.js", "dist": map[string]string{
				"tarball": "http://" + r.Host + "/npm/tiny/-/tiny-1.0.0.tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
			}}},
		})
	})
	p.web.handler.HandleFunc("/npm/tiny/-/tiny-1.0.0.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(file.Bytes()) })
}

// newSSHServer serves the repository over ssh, to anybody, and returns its port.
func newSSHServer(t *testing.T, p *proxyWorld) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	signer, err := ssh.NewSignerFromKey(key)
	must(t, err)
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(signer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveSSH(c, config, filepath.Join(p.dir("O"), "git"))
		}
	}()
	return portOf(t, l.Addr())
}

func serveSSH(c net.Conn, config *ssh.ServerConfig, root string) {
	defer c.Close()
	_, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for asked := range channels {
		if asked.ChannelType() != "session" {
			_ = asked.Reject(ssh.UnknownChannelType, "sessions only")
			continue
		}
		channel, wishes, err := asked.Accept()
		if err != nil {
			return
		}
		go serveSession(channel, wishes, root)
	}
}

// serveSession runs git-upload-pack(1) for a path below root, and nothing else.
func serveSession(channel ssh.Channel, wishes <-chan *ssh.Request, root string) {
	defer channel.Close()
	for w := range wishes {
		var command struct{ Text string }
		if w.Type != "exec" || ssh.Unmarshal(w.Payload, &command) != nil {
			_ = w.Reply(false, nil)
			continue
		}
		_ = w.Reply(true, nil)
		path, ok := strings.CutPrefix(command.Text, "git-upload-pack '/")
		status := []byte{0, 0, 0, 1}
		if ok {
			upload := exec.Command("git", "-c", "safe.directory=*", "upload-pack", filepath.Join(root, filepath.Clean("/"+strings.TrimSuffix(path, "'"))))
			upload.Stdin, upload.Stdout, upload.Stderr = channel, channel, channel.Stderr()
			if upload.Run() == nil {
				status[3] = 0
			}
		}
		_, _ = channel.SendRequest("exit-status", false, status)
		return
	}
}

// database speaks as much of PostgreSQL's protocol, version 3, as one query takes.
type database struct {
	port  string
	mu    sync.Mutex
	asked int
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	d := &database{port: portOf(t, l.Addr())}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_ = d.talk(c)
			}()
		}
	}()
	return d
}

func (d *database) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}

// message is a type and what it says after its length.
func message(kind byte, body string) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))) + body //nolint:gosec // short texts
}

// talk answers the start-up message and every query with one row.
func (d *database) talk(c net.Conn) error {
	var length [4]byte
	read := func() (string, error) {
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return "", err
		}
		n := binary.BigEndian.Uint32(length[:])
		if n < 4 || n > 1<<16 {
			return "", fmt.Errorf("a message of %d bytes", n)
		}
		body := make([]byte, n-4)
		_, err := io.ReadFull(c, body)
		return string(body), err
	}
	if _, err := read(); err != nil {
		return err
	}
	ready := message('Z', "I")
	if _, err := io.WriteString(c, message('R', "\x00\x00\x00\x00")+message('S', "server_version\x0015.0\x00")+ready); err != nil {
		return err
	}
	for {
		var kind [1]byte
		if _, err := io.ReadFull(c, kind[:]); err != nil {
			return err
		}
		if _, err := read(); err != nil || kind[0] != 'Q' {
			return err
		}
		d.mu.Lock()
		d.asked++
		d.mu.Unlock()
		column := "answer\x00" + strings.Repeat("\x00", 6) + "\x00\x00\x00\x19" + "\xff\xff" + "\xff\xff\xff\xff" + "\x00\x00" // text
		const text = "forty-two"
		row := "\x00\x01\x00\x00\x00" + string(rune(len(text))) + text
		if _, err := io.WriteString(c, message('T', "\x00\x01"+column)+message('D', row)+message('C', "SELECT 1\x00")+ready); err != nil {
			return err
		}
	}
}
