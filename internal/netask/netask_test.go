package netask

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var full = Config{
	Rules:    []Rule{{"api.example.com", 443}, {"*.example.org", 0}, {"2001:db8::1", 22}},
	Upstream: "http://proxy.corp:3128", Resolver: "127.0.0.1:5353", Publish: []uint16{8080, 1}, Proxy: true,
}

func TestConfigRefuses(t *testing.T) {
	good := string(full.Encode())
	for _, c := range [][2]string{
		{`"protocol":1`, `"protocol":2`},
		{`"version":"`, `"version":"x`},
		{`"proxy":true,`, ``},
		{`"proxy":true`, `"proxy":1`},
		{`"proxy":true`, `"proxy":true,"proxy":true`},
		{`"upstream"`, `"Upstream"`},
		{`"resolver":"127.0.0.1:5353"`, `"resolver":null`},
		{`"port":443`, `"port":65536`},
		{`"port":443`, `"port":-1`},
		{`"port":443`, `"port":443,"x":1`},
		{`"name":"api.example.com",`, ``},
		{`{"port":8080}`, `{"port":0}`},
		{`{"port":8080}`, `8080`},
	} {
		if got, err := DecodeConfig([]byte(strings.Replace(good, c[0], c[1], 1))); err == nil || !strings.Contains(good, c[0]) {
			t.Errorf("%s in place of %s: %+v", c[1], c[0], got)
		}
	}
	many := Config{Publish: make([]uint16, mostPorts+1)}
	for i := range many.Publish {
		many.Publish[i] = uint16(i + 1)
	}
	if _, err := DecodeConfig(many.Encode()); err == nil {
		t.Error("more ports than a run may have are read")
	}
	got, err := DecodeConfig([]byte(good)) // positive control
	if diff := cmp.Diff(full, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func FuzzDecodeConfig(f *testing.F) {
	f.Add(full.Encode())
	f.Add([]byte(`{"protocol":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		c, err := DecodeConfig(line)
		if err != nil {
			return
		}
		again, err := DecodeConfig(c.Encode())
		if diff := cmp.Diff(c, again); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}
