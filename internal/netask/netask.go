package netask

import (
	"fmt"

	"brainbox/internal/hostask"
	"brainbox/internal/strictjson"
	"brainbox/internal/version"
)

const (
	maxConfig = 4 << 20 // bytes of the config's line
	mostRules = 1 << 14
	mostPorts = 256
)

// Config is one run.
type Config struct {
	Rules    []Rule   // allow_hosts
	Upstream string   // http://HOST:PORT; empty: none
	Resolver string   // ADDRESS:PORT of a DNS server in place of the host's; empty: the host's
	Publish  []uint16 // ports of the program that are reached from the host's loopback
	Proxy    bool     // mode proxy; false: mode none, with Publish only
}

// Rule is one entry of allow_hosts.
type Rule struct {
	Name string
	Port uint16
}

// Encode writes the config as one line.
func (c *Config) Encode() []byte {
	rules := make([]strictjson.Value, 0, len(c.Rules))
	for _, r := range c.Rules {
		rules = append(rules, strictjson.Object(strictjson.Pair("name", strictjson.Text(r.Name)), strictjson.Pair("port", strictjson.Int(int64(r.Port)))))
	}
	ports := make([]strictjson.Value, 0, len(c.Publish))
	for _, p := range c.Publish {
		ports = append(ports, strictjson.Object(strictjson.Pair("port", strictjson.Int(int64(p)))))
	}
	v := strictjson.Object(
		strictjson.Pair("protocol", strictjson.Int(hostask.Protocol)), strictjson.Pair("version", strictjson.Text(version.String())),
		strictjson.Pair("proxy", strictjson.Bool(c.Proxy)), strictjson.Pair("rules", strictjson.Array(rules...)),
		strictjson.Pair("upstream", strictjson.Text(c.Upstream)), strictjson.Pair("resolver", strictjson.Text(c.Resolver)),
		strictjson.Pair("publish", strictjson.Array(ports...)))
	return strictjson.AppendLine(nil, &v)
}

// DecodeConfig reads a config, strictly: every key is required, no other is known, and it is
// of this very version.
func DecodeConfig(line []byte) (Config, error) {
	v, err := strictjson.Decode(line, strictjson.Limits{Bytes: maxConfig, Keys: 1 << 17, Values: 1 << 17})
	if err != nil {
		return Config{}, err
	}
	f := strictjson.Bind(v, "protocol", "version", "proxy", "rules", "upstream", "resolver", "publish")
	if protocol, theirs := f.Int("protocol", 0, 1<<30), f.String("version"); f.Err() == nil && (protocol != hostask.Protocol || theirs != version.String()) {
		return Config{}, fmt.Errorf("brainbox is of protocol %d and version %q, this is brainbox-host %q", protocol, theirs, version.String())
	}
	c := Config{Proxy: f.Bool("proxy"), Upstream: f.String("upstream"), Resolver: f.String("resolver")}
	for _, r := range f.Objects("rules", mostRules, "name", "port") {
		c.Rules = append(c.Rules, Rule{r.String("name"), uint16(r.Int("port", 0, 1<<16-1))})
	}
	for _, p := range f.Objects("publish", mostPorts, "port") {
		c.Publish = append(c.Publish, uint16(p.Int("port", 1, 1<<16-1)))
	}
	return c, f.Err()
}
