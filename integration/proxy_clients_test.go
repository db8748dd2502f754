package integration

import (
	"path/filepath"
	"strings"
	"testing"
)

// proxyClient is a program that many people use. Its script gets a host, a port and the file
// of a certificate; it is run for the listed name and for one that is not.
type proxyClient struct {
	name   string
	needs  []string // by internal/needs
	maybe  []string // programs without which the case is left out
	port   func(p *proxyWorld) string
	script string // for sh -eu
	direct bool   // only without the variables
	six    bool   // only where there is IPv6
	want   string // what standard output has
}

// unset takes the variables of a proxy away.
const unset = "unset HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy\n"

func plainPort(p *proxyWorld) string  { return p.web.port }
func securePort(p *proxyWorld) string { return p.secure.port }

// webClients speak HTTP and HTTPS.
func webClients() []proxyClient {
	const (
		curl   = "curl -sS --fail "
		python = `/usr/bin/python3 - "$@" <<'END'
import ssl, sys, urllib.request
host, port, ca = sys.argv[1:]
`
		fetch = `node - "$@" <<'END'
const [host, port] = process.argv.slice(2);
const fail = e => { console.error(String(e.cause || e)); process.exit(1) };
`
	)
	return []proxyClient{
		{name: "curl", maybe: []string{"curl"}, port: plainPort, script: curl + `"http://$1:$2/"`},
		{name: "curl https", maybe: []string{"curl"}, port: securePort, script: curl + `--cacert "$3" "https://$1:$2/"`},
		{name: "curl without proxy", maybe: []string{"curl"}, port: securePort, script: curl + `--noproxy '*' --cacert "$3" "https://$1:$2/"`},
		{name: "curl IPv4 only", maybe: []string{"curl"}, port: plainPort, direct: true, script: curl + `-4 "http://$1:$2/"`},
		{name: "curl IPv6 only", maybe: []string{"curl"}, port: plainPort, direct: true, six: true, script: curl + `-6 "http://$1:$2/"`},
		{
			name: "curl SOCKS5", maybe: []string{"curl"}, port: plainPort,
			script: curl + `--noproxy '' --proxy socks5h://127.0.0.1:1023 "http://$1:$2/"`,
		},
		{
			name: "python urllib", needs: []string{"/usr/bin/python3"}, port: plainPort,
			script: python + `print(urllib.request.urlopen("http://%s:%s/" % (host, port)).read().decode())` + "\nEND",
		},
		{
			name: "python urllib https", needs: []string{"/usr/bin/python3"}, port: securePort,
			script: python + `print(urllib.request.urlopen("https://%s:%s/" % (host, port), context=ssl.create_default_context(cafile=ca)).read().decode())` + "\nEND",
		},
		{
			name: "node fetch", needs: []string{"node"}, port: plainPort,
			script: fetch + "fetch(`http://${host}:${port}/`).then(r => r.text()).then(console.log, fail)\nEND",
		},
		{
			name: "node https", needs: []string{"node"}, port: securePort,
			script: "export NODE_EXTRA_CA_CERTS=\"$3\"\n" + fetch +
				"require('https').get(`https://${host}:${port}/`, r => r.pipe(process.stdout)).on('error', fail)\nEND",
		},
		{name: "go", port: plainPort, script: `"$VISITOR" fetch "http://$1:$2/" | grep '^ok 200'`, want: "ok 200 served"},
		{name: "go https", port: securePort, script: `"$VISITOR" fetch "https://$1:$2/" "$3" | grep '^ok 200'`, want: "ok 200 served"},
	}
}

// toolClients fetch code and packages.
func toolClients(ssh string) []proxyClient {
	const clone = `cd "$(mktemp -d)"; `
	cases := []proxyClient{
		{name: "git", port: plainPort, script: clone + `git clone -q "http://$1:$2/git/repo"; cat repo/f`},
		{name: "git https", port: securePort, script: clone + `git -c http.sslCAInfo="$3" clone -q "https://$1:$2/git/repo"; cat repo/f`},
	}
	for i := range cases {
		cases[i].needs, cases[i].want = []string{"git"}, canaryText
	}
	return append(cases, proxyClient{
		name: "git over ssh", needs: []string{"git"}, maybe: []string{"ssh"}, port: func(*proxyWorld) string { return ssh }, want: canaryText,
		script: clone + `export GIT_SSH_COMMAND='ssh -o StrictHostKeyChecking=no -o BatchMode=yes -o LogLevel=ERROR'
			git clone -q "ssh://git@$1:$2/repo"; cat repo/f; test -s ~/.ssh/known_hosts`,
	}, proxyClient{
		name: "npm", needs: []string{"node", "npm"}, port: plainPort, want: "tiny works",
		script: clone + `echo '{"name":"demo","version":"1.0.0"}' >package.json
			npm install tiny --registry "http://$1:$2/npm/" --no-audit --no-fund --no-update-notifier --fetch-retries 0 --silent
			node -e 'require("tiny")'`,
	})
}

// TestProxyClients has real programs take both ways, with the variables of the proxy and
// without: each reaches the listed name, and not the other one, which is at the same address;
// what is refused is told in one line that names it (esc/NW-17).
func TestProxyClients(t *testing.T) {
	proxied(t)
	p := newProxyWorld(t)
	p.serveRepository(t)
	p.servePackage(t)
	ssh, sql := newSSHServer(t, p), newDatabase(t)
	flags := p.usual("ok.test:"+ssh, "127.0.0.1:"+ssh, "ok.test:"+sql.port, "127.0.0.1:"+sql.port)
	cases := append(webClients(), toolClients(ssh)...)
	cases = append(cases, proxyClient{
		name: "psql", maybe: []string{"psql"}, port: func(*proxyWorld) string { return sql.port }, want: "forty-two\n",
		script: `psql "host=$1 port=$2 user=x dbname=x sslmode=disable gssencmode=disable connect_timeout=60" -XAtc 'select answer'`,
	})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			compatCase{needs: c.needs, maybe: c.maybe}.gate(t)
			if c.six && !hasIPv6() {
				t.Skip("needs: IPv6") // gating: internal/needs has no word for it
			}
			if !c.direct {
				c.try(t, p, flags, "")
			}
			c.try(t, p, flags, unset)
		})
	}
	for _, l := range [][]string{p.web.all(), p.secure.all(), p.dns.all()} {
		if all := strings.Join(l, "\n"); strings.Contains(all, "denied") {
			t.Errorf("the name that is not listed arrived:\n%s", all)
		}
	}
	if n := sql.count(); n != 0 && n != 2 { // by either way once
		t.Errorf("the database was asked %d times", n)
	}
}

// try runs a client for the name that is listed, and for the one that is not.
func (c *proxyClient) try(t *testing.T, p *proxyWorld, flags []string, before string) {
	t.Helper()
	want := c.want
	if want == "" {
		want = "served"
	}
	ask := func(host string, flags []string) result {
		script := "VISITOR='" + program("visitor") + "'\n" + before + c.script
		return confined(t, p.world, flags, "/bin/sh", "-euc", script, "sh", host, c.port(p), filepath.Join(p.dir("R"), "ca.pem"))
	}
	if r := ask("ok.test", flags); r.status != 0 || !strings.Contains(r.out, want) || len(refusals(r.err)) != 0 {
		t.Errorf("%q: what is listed: status %d, %q\n%s", before, r.status, r.out, r.err)
	}
	r := ask("denied.test", flags)
	if told := refusals(r.err); r.status == 0 || strings.Contains(r.out, want) || len(told) != 1 || !strings.Contains(told[0], " denied.test:") {
		t.Errorf("%q: what is not listed: status %d, %q\n%s", before, r.status, r.out, r.err)
	}
}
