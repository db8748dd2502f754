package wire

import (
	"brainbox/internal/strictjson"
)

// Hello is the first request of a connection.
type Hello struct {
	Protocol string
	Client   string // the client's name, for logs: at most 128 bytes
	Proof    string // of a user interface; see [Proof]
}

// MostClient bounds the name of a client, in bytes.
const MostClient = 128

// ReadHello binds the params of hello. A protocol that is not ours is protocol_unsupported.
func ReadHello(params *strictjson.Value) (Hello, error) {
	f := strictjson.Bind(params, "protocol", "client", "proof")
	h := Hello{Protocol: f.String("protocol"), Client: f.String("client")}
	if len(h.Client) > MostClient {
		f.Invalid("client", "longer than 128 bytes")
	}
	if f.Has("proof") {
		h.Proof = f.String("proof")
	}
	if err := f.Err(); err != nil {
		return Hello{}, err
	}
	if h.Protocol != Protocol {
		return Hello{}, fail(CodeProtocolUnsupported, "this server speaks "+Protocol)
	}
	return h, nil
}

// Value is the params of hello.
func (h Hello) Value() *strictjson.Value {
	v := strictjson.Object(
		strictjson.Pair("protocol", strictjson.Text(h.Protocol)),
		strictjson.Pair("client", strictjson.Text(h.Client)),
	)
	if h.Proof != "" {
		v.Add("proof", strictjson.Text(h.Proof))
	}
	return &v
}

// Welcome is the result of hello.
type Welcome struct {
	Protocol           string
	Session            string
	Limits             Limits
	Capabilities       Capabilities
	PermissionsVersion int64
}

// Capabilities say what this host can be asked for.
type Capabilities struct {
	Methods []string
	Tools   []string // by name, at most MostTools; nil: not told
	Roots   []Root   // that files are written in
}

// MostTools is how many tools a host can tell at hello.
const MostTools = 1024

// Root is a folder that files are written in, by its name in calls.
type Root struct {
	Name string
	Path string // absolute, of the host; the same inside
}

// Limits are those that a client can keep to.
type Limits struct {
	FrameBytes     int64
	InFlight       int64 // calls of one connection at a time
	CallsPerSecond int64
}

// Value is the result of hello.
func (w *Welcome) Value() *strictjson.Value {
	v := strictjson.Object(
		strictjson.Pair("protocol", strictjson.Text(w.Protocol)),
		strictjson.Pair("session", strictjson.Text(w.Session)),
		strictjson.Pair("limits", strictjson.Object(
			strictjson.Pair("frameBytes", strictjson.Int(w.Limits.FrameBytes)),
			strictjson.Pair("inFlight", strictjson.Int(w.Limits.InFlight)),
			strictjson.Pair("callsPerSecond", strictjson.Int(w.Limits.CallsPerSecond)),
		)),
		strictjson.Pair("capabilities", w.Capabilities.value()),
		strictjson.Pair("permissionsProtocolVersion", strictjson.Int(w.PermissionsVersion)),
	)
	return &v
}

// ReadWelcome reads the result of hello. A protocol that is not ours is
// protocol_unsupported.
func ReadWelcome(result *strictjson.Value) (Welcome, error) {
	const most = 1 << 31
	f := strictjson.BindLenient(result)
	w := Welcome{
		Protocol: f.String("protocol"), Session: f.String("session"),
		PermissionsVersion: f.Int("permissionsProtocolVersion", 1, most),
	}
	w.Capabilities = readCapabilities(f.Object("capabilities", "methods", "tools", "roots"))
	l := f.Object("limits")
	w.Limits = Limits{FrameBytes: l.Int("frameBytes", 1, most), InFlight: l.Int("inFlight", 1, most), CallsPerSecond: l.Int("callsPerSecond", 1, most)}
	if err := f.Err(); err != nil {
		return Welcome{}, err
	}
	if w.Protocol != Protocol {
		return Welcome{}, fail(CodeProtocolUnsupported, "this client speaks "+Protocol)
	}
	return w, nil
}

func (c *Capabilities) value() strictjson.Value {
	v := strictjson.Object(strictjson.Pair("methods", strictjson.Texts(c.Methods)))
	if c.Tools != nil {
		v.Add("tools", strictjson.Texts(c.Tools))
	}
	roots := strictjson.Object()
	for _, r := range c.Roots {
		roots.Add(r.Name, strictjson.Text(r.Path))
	}
	v.Add("roots", roots)
	return v
}

func readCapabilities(f *strictjson.Fields) (c Capabilities) {
	c.Methods = f.Strings("methods", 256)
	if f.Has("tools") {
		c.Tools = f.Strings("tools", MostTools)
	}
	if !f.Has("roots") {
		return c
	}
	for _, m := range f.Opaque("roots", 0).Members {
		if m.Value.Kind != strictjson.KindString {
			f.Invalid("roots", "no path")
		}
		c.Roots = append(c.Roots, Root{Name: m.Key, Path: m.Value.Text})
	}
	return c
}
