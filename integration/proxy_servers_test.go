package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// nameServer is the DNS server that the host's side asks; it keeps what it is asked.
type nameServer struct {
	journal
	address string

	table sync.Mutex
	names map[string][][]netip.Addr // the answers one after the other; the last one stays
}

func newNameServer(t testing.TB) *nameServer {
	t.Helper()
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = udp.Close() })
	s := &nameServer{address: udp.LocalAddr().String(), names: map[string][][]netip.Addr{}}
	go func() {
		b := make([]byte, 4096)
		for {
			n, from, err := udp.ReadFrom(b)
			if err != nil {
				return
			}
			if out := s.answer(b[:n]); out != nil {
				_, _ = udp.WriteTo(out, from)
			}
		}
	}()
	return s
}

// set has a name lead to the addresses; more than one word is one answer after the other.
func (s *nameServer) set(name string, answers ...string) {
	var all [][]netip.Addr
	for _, a := range answers {
		var one []netip.Addr
		for word := range strings.FieldsSeq(a) {
			one = append(one, netip.MustParseAddr(word))
		}
		all = append(all, one)
	}
	s.table.Lock()
	defer s.table.Unlock()
	s.names[name+"."] = all
}

// next are the addresses of a name. A question for AAAA does not use an answer up.
func (s *nameServer) next(name string, kind dnsmessage.Type) ([]netip.Addr, bool) {
	s.table.Lock()
	defer s.table.Unlock()
	answers, known := s.names[strings.ToLower(name)]
	if !known || len(answers) == 0 {
		return nil, known
	}
	if kind == dnsmessage.TypeA && len(answers) > 1 {
		s.names[strings.ToLower(name)] = answers[1:]
	}
	return answers[0], true
}

func (s *nameServer) answer(question []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		s.add("malformed")
		return nil
	}
	q := m.Questions[0]
	s.add(q.Type.String() + " " + q.Name.String())
	addresses, known := s.next(q.Name.String(), q.Type)
	m.Response, m.Additionals = true, nil
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addresses {
		h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		switch {
		case q.Type == dnsmessage.TypeA && a.Is4():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
		case q.Type == dnsmessage.TypeAAAA && a.Is6():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	return out
}

// webServer is an origin that keeps what it is asked: "METHOD host path", and for HTTPS the
// server name of each ClientHello.
type webServer struct {
	journal
	port    string
	handler http.ServeMux
}

// newWebServer serves HTTP, or HTTPS with a certificate.
func newWebServer(t testing.TB, address string, certificate *tls.Certificate) *webServer {
	t.Helper()
	l, err := net.Listen("tcp", address)
	must(t, err)
	s := &webServer{port: portOf(t, l.Addr())}
	s.handler.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "served") })
	s.handler.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://denied.test:"+s.port+"/landed", http.StatusFound)
	})
	server := &http.Server{ReadHeaderTimeout: patience, ErrorLog: log.New(s, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.add(r.Method + " " + r.Host + " " + r.URL.Path)
		s.handler.ServeHTTP(w, r)
	})}
	t.Cleanup(func() { _ = server.Close() })
	if certificate != nil {
		l = tls.NewListener(l, &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
			s.add("hello " + h.ServerName)
			return certificate, nil
		}})
	}
	go func() { _ = server.Serve(l) }()
	return s
}

// Write keeps what the server says of a connection that it could not use, if anything came.
func (s *webServer) Write(p []byte) (int, error) {
	if line := strings.TrimSpace(string(p)); !strings.HasSuffix(line, ": EOF") {
		s.add(line)
	}
	return len(p), nil
}

// newAuthority makes a certificate that signs itself for the names, and leaves it in a folder
// as ca.pem.
func newAuthority(t testing.TB, dir string, names ...string) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "brainbox test"}, DNSNames: names,
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	must(t, os.WriteFile(filepath.Join(dir, "ca.pem"), text, 0o644))
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
