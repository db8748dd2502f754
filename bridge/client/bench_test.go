package client_test

import (
	"testing"

	"brainbox/bridge/bridgetest"
	"brainbox/bridge/client"
	"brainbox/bridge/envelope"
	"brainbox/internal/strictjson"
)

// BenchmarkRoundTrip is a client's call: to a host that does nothing else than answer, and
// through the gate to the mediated tools.
func BenchmarkRoundTrip(b *testing.B) {
	fake := bridgetest.Start(b, &bridgetest.Host{Call: echo})
	r := bridgetest.StartReal(b, rules)
	content := strictjson.Object(strictjson.Pair("root", strictjson.Text("repo")), strictjson.Pair("path", strictjson.Text("f")),
		strictjson.Pair("mode", strictjson.Text("append")), strictjson.Pair("data", strictjson.Text("x\n")))
	made := strictjson.Object(strictjson.Pair("path", strictjson.Text("f")), strictjson.Pair("content", strictjson.Text("")), strictjson.Pair("base", strictjson.Null()))
	read := strictjson.Object(strictjson.Pair("path", strictjson.Text("f")), strictjson.Pair("limit", strictjson.Int(1)))
	for _, bench := range []struct {
		name, socket, tool string
		input              strictjson.Value
	}{
		{"fake", fake.Socket, "x", read},
		{"read", r.Agent, "read_file", read},
		{"append", r.Agent, "fs.write", content},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c, err := client.Open(b.Context(), client.Options{Socket: bench.socket})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			if bench.name == "read" {
				if _, err := c.Call(b.Context(), "write_file", &made); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				res, err := c.Call(b.Context(), bench.tool, &bench.input)
				if err != nil || res.Status != envelope.Succeeded {
					b.Fatalf("%+v, %v", res, err)
				}
			}
		})
	}
}
