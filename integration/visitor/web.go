package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// opHTTP sends the bytes of a request to a proxy.
func opHTTP(words []string) (string, error) {
	c, err := net.DialTimeout("tcp", words[0], patience)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if err := send(c, words[1]); err != nil {
		return "", err
	}
	in := bufio.NewReader(c)
	connect := strings.HasPrefix(words[1], hex.EncodeToString([]byte("CONNECT ")))
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	if connect && r.StatusCode == http.StatusOK {
		if len(words) < 3 {
			return "200", nil
		}
		if err := send(c, words[2]); err != nil {
			return "", err
		}
		rest, err := io.ReadAll(in)
		if err != nil { // a reset is an end as well
			return fmt.Sprintf("200 %q reset", rest), nil
		}
		return fmt.Sprintf("200 %q", rest), nil
	}
	body, err := io.ReadAll(r.Body)
	return fmt.Sprintf("%d %q", r.StatusCode, body), err
}

func send(c net.Conn, words string) error {
	b, err := hex.DecodeString(words)
	if err != nil {
		return err
	}
	_, err = c.Write(b)
	return err
}

// opFetch is Go's HTTP client.
func opFetch(words []string) (string, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{}}
	if slices.Contains(words[1:], "direct") {
		transport.Proxy = nil
	}
	if len(words) > 1 && words[1] != "direct" {
		text, err := os.ReadFile(words[1])
		if err != nil {
			return "", err
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(text)
	}
	client := &http.Client{Transport: transport, Timeout: patience}
	r, err := client.Get(words[0])
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	return fmt.Sprintf("%d %s", r.StatusCode, strings.TrimSpace(string(body))), err
}

// opLookup is Go's resolver, which reads resolv.conf itself.
func opLookup(words []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, words[0])
	slices.Sort(addresses)
	return strings.Join(addresses, " "), err
}
