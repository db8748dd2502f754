package hostask

import (
	"fmt"

	"brainbox/internal/strictjson"
	"brainbox/internal/toolask"
	"brainbox/internal/version"
)

// Protocol is what this version speaks.
const Protocol = 1

const (
	// MaxLine bounds a line of either side, in bytes.
	MaxLine = 8 << 20
	most    = 1 << 16 // entries of one list
	maxFD   = 1 << 10
)

// Control is the number of the connected socket in the host.
const Control = 3

// Root is a folder that the program may have written to, under a name.
type Root struct {
	Name string
	Path string // for people and for what rules say; the descriptor is the folder
	FD   int
}

// Config is one run. A descriptor is -1 where there is none.
type Config struct {
	Session string // what the program's requests name
	Dir     string // the folder of the sockets
	State   string // where the operator's key and the record are

	Envelope string // the text of the bridge envelope; empty: no tools of the host
	Roots    []Root
	Keep     []string // nothing may be written there, or below
	Hide     []string // nor read
	Writes   []string // trees that the program may write to itself: nothing there is believed
	Gate     toolask.Request

	Agent    int    // listening: agent.sock
	UI       int    // listening: ui.sock
	Conn     int    // connected: the program's only way, in place of agent.sock
	Terminal int    // of package hold: the operator is asked on the terminal, the program held meanwhile; -1: he is not
	UID      uint32 // whom the program runs as
}

// Encode writes the config as one line.
func (c *Config) Encode() []byte {
	roots := make([]strictjson.Value, 0, len(c.Roots))
	for _, r := range c.Roots {
		roots = append(roots, strictjson.Object(
			strictjson.Pair("name", strictjson.Text(r.Name)), strictjson.Pair("path", strictjson.Text(r.Path)),
			strictjson.Pair("fd", strictjson.Int(int64(r.FD)))))
	}
	v := strictjson.Object(
		strictjson.Pair("protocol", strictjson.Int(Protocol)), strictjson.Pair("version", strictjson.Text(version.String())),
		strictjson.Pair("session", strictjson.Text(c.Session)), strictjson.Pair("dir", strictjson.Text(c.Dir)),
		strictjson.Pair("state", strictjson.Text(c.State)), strictjson.Pair("envelope", strictjson.Text(c.Envelope)),
		strictjson.Pair("roots", strictjson.Array(roots...)), strictjson.Pair("keep", strictjson.Texts(c.Keep)),
		strictjson.Pair("hide", strictjson.Texts(c.Hide)), strictjson.Pair("writes", strictjson.Texts(c.Writes)),
		strictjson.Pair("gate", c.Gate.Value()),
		strictjson.Pair("uid", strictjson.Uint(uint64(c.UID))),
	)
	for _, d := range c.descriptors() {
		v.Add(d.key, strictjson.Int(int64(*d.fd)+1)) // 0: none
	}
	return strictjson.AppendLine(nil, &v)
}

type descriptor struct {
	key string
	fd  *int
}

func (c *Config) descriptors() []descriptor {
	return []descriptor{{"agent", &c.Agent}, {"ui", &c.UI}, {"conn", &c.Conn}, {"terminal", &c.Terminal}}
}

// DecodeConfig reads a config, strictly: every key is required, no other is known, and no
// descriptor is named twice, or is the control socket or a standard one.
func DecodeConfig(line []byte) (Config, error) {
	v, err := strictjson.Decode(line, limits())
	if err != nil {
		return Config{}, err
	}
	f := strictjson.Bind(v, "protocol", "version", "session", "dir", "state", "envelope", "roots", "keep", "hide", "writes", "gate", "uid",
		"agent", "ui", "conn", "terminal")
	if protocol, theirs := f.Int("protocol", 0, 1<<30), f.String("version"); f.Err() == nil && (protocol != Protocol || theirs != version.String()) {
		return Config{}, fmt.Errorf("brainbox is of protocol %d and version %q, this is brainbox-host %q", protocol, theirs, version.String())
	}
	c := Config{
		Session: f.String("session"), Dir: f.String("dir"), State: f.String("state"), Envelope: f.String("envelope"),
		Keep: f.Strings("keep", most), Hide: f.Strings("hide", most), Writes: f.Strings("writes", most),
		UID: uint32(f.Int("uid", 0, 1<<32-1)),
	}
	for _, r := range f.Objects("roots", 256, "name", "path", "fd") {
		c.Roots = append(c.Roots, Root{r.String("name"), r.String("path"), int(r.Int("fd", 0, maxFD))})
	}
	for _, d := range c.descriptors() {
		*d.fd = int(f.Int(d.key, 0, maxFD)) - 1
	}
	gate := f.Any("gate")
	if err := f.Err(); err != nil {
		return Config{}, err
	}
	if c.Gate, err = toolask.ReadRequest(gate); err != nil {
		return Config{}, err
	}
	return c, c.check()
}

func limits() strictjson.Limits {
	return strictjson.Limits{Bytes: MaxLine, Keys: 1 << 20, Values: 1 << 20}
}

// check refuses numbers that cannot be what they are named for.
func (c *Config) check() error {
	seen := map[int]bool{}
	one := func(what string, fd int) error {
		if fd <= Control || seen[fd] {
			return fmt.Errorf("descriptor %d is not that of %s", fd, what)
		}
		seen[fd] = true
		return nil
	}
	for _, d := range c.descriptors() {
		if *d.fd < 0 && (d.key == "conn" || d.key == "terminal") {
			continue
		}
		if err := one(d.key, *d.fd); err != nil {
			return err
		}
	}
	for _, r := range c.Roots {
		if err := one("root "+strictjson.Escape(r.Name), r.FD); err != nil {
			return err
		}
	}
	return nil
}
