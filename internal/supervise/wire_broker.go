package supervise

import (
	"brainbox/internal/broker"
	"brainbox/internal/strictjson"
)

// brokerJSON writes what a broker does, and returns its descriptors in order: of each
// socket, Folder and then Pinned.
func brokerJSON(c *broker.Config) (v strictjson.Value, fds []int) {
	if c == nil {
		return strictjson.Null(), nil
	}
	sockets := make([]strictjson.Value, 0, len(c.Sockets))
	for _, s := range c.Sockets {
		sockets = append(sockets, strictjson.Object(
			strictjson.Pair("name", packed(s.Name)),
			strictjson.Pair("uid", strictjson.Uint(uint64(s.UID))),
			strictjson.Pair("pinned", strictjson.Bool(s.Pinned > 0))))
		fds = append(fds, s.Folder)
		if s.Pinned > 0 {
			fds = append(fds, s.Pinned)
		}
	}
	ports := make([]uint32, 0, len(c.Rules.Ports))
	for _, p := range c.Rules.Ports {
		ports = append(ports, uint32(p))
	}
	return strictjson.Object(
		strictjson.Pair("sockets", strictjson.Array(sockets...)),
		strictjson.Pair("ports", numbers(ports...)),
		strictjson.Pair("udp", strictjson.Bool(c.Rules.UDP)),
		strictjson.Pair("all", strictjson.Bool(c.Rules.All))), fds
}

// broker reads what brokerJSON wrote. take hands out the next descriptor.
func (d *unwire) broker(take func() int) *broker.Config {
	if v := d.f.Any("broker"); v == nil || v.Kind == strictjson.KindNull {
		return nil
	}
	f := d.f.Object("broker", "sockets", "ports", "udp", "all")
	c := &broker.Config{Rules: broker.Rules{UDP: f.Bool("udp"), All: f.Bool("all")}}
	for _, o := range f.Objects("sockets", maxList, "name", "uid", "pinned") {
		s := broker.Socket{UID: uint32(o.Int("uid", 0, 1<<32-1)), Folder: take()}
		name, err := unpacked(o.String("name"))
		d.fail(err)
		if len(name) == 1 {
			s.Name = name[0]
		}
		if o.Bool("pinned") {
			s.Pinned = take()
		}
		c.Sockets = append(c.Sockets, s)
	}
	for _, p := range d.numbers(f.Strings("ports", 1<<16), 16) {
		c.Rules.Ports = append(c.Rules.Ports, uint16(p))
	}
	return c
}
