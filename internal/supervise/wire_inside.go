package supervise

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"

	"brainbox/internal/spawn"
	"brainbox/internal/strictjson"
)

// namespacesJSON writes the namespaces and returns the descriptors that their mounts hold,
// in order: of each, Held and then Over.
func namespacesJSON(n *spawn.Namespaces) (v strictjson.Value, fds []int) {
	if n == nil {
		return strictjson.Null(), nil
	}
	mounts := make([]strictjson.Value, 0, len(n.Mounts))
	for i := range n.Mounts {
		m := &n.Mounts[i]
		mounts = append(mounts, strictjson.Object(
			strictjson.Pair("kind", strictjson.Int(int64(m.Kind))),
			strictjson.Pair("texts", packed(append([]string{m.Path, m.Source, m.FSType}, m.Options...)...)),
			strictjson.Pair("flags", flagsJSON(
				m.Held > 0, m.Over > 0, m.Writable, m.Exec, m.Devices, m.Recursive, m.OneMount)),
			strictjson.Pair("mode", strictjson.Int(int64(m.Mode))),
			strictjson.Pair("data", strictjson.Text(base64.StdEncoding.EncodeToString(m.Data))),
			strictjson.Pair("access", numbers(m.Access))))
		for _, fd := range []int{m.Held, m.Over} {
			if fd > 0 {
				fds = append(fds, fd)
			}
		}
	}
	return strictjson.Object(
		strictjson.Pair("net", strictjson.Bool(n.Net)),
		strictjson.Pair("loopback", strictjson.Bool(n.Loopback)),
		strictjson.Pair("texts", packed(n.Hostname, n.Dir, n.Reopen[0].Path, n.Reopen[1].Path, n.Reopen[2].Path)),
		strictjson.Pair("reopen", numbers(uint32(n.Reopen[0].Flags), uint32(n.Reopen[1].Flags), uint32(n.Reopen[2].Flags))),
		strictjson.Pair("uid_map", mapJSON(n.UIDMap)),
		strictjson.Pair("gid_map", mapJSON(n.GIDMap)),
		strictjson.Pair("mounts", strictjson.Array(mounts...))), fds
}

func flagsJSON(list ...bool) strictjson.Value {
	out := make([]strictjson.Value, 0, len(list))
	for _, b := range list {
		out = append(out, strictjson.Bool(b))
	}
	return strictjson.Array(out...)
}

func mapJSON(m []spawn.IDMap) strictjson.Value {
	flat := make([]uint32, 0, 3*len(m))
	for _, x := range m {
		flat = append(flat, x.Inside, x.Outside, x.Count)
	}
	return numbers(flat...)
}

// namespaces reads what namespacesJSON wrote. take hands out the next descriptor.
func (d *unwire) namespaces(take func() int) *spawn.Namespaces {
	if v := d.f.Any("namespaces"); v == nil || v.Kind == strictjson.KindNull {
		return nil
	}
	f := d.f.Object("namespaces", "net", "loopback", "texts", "reopen", "uid_map", "gid_map", "mounts")
	n := &spawn.Namespaces{
		Net: f.Bool("net"), Loopback: f.Bool("loopback"), UIDMap: d.idMap(f, "uid_map"), GIDMap: d.idMap(f, "gid_map"),
	}
	if texts := d.texts(f, 5); texts != nil {
		n.Hostname, n.Dir = texts[0], texts[1]
		for i, how := range d.numbers(f.Strings("reopen", 3), 31) {
			n.Reopen[i] = spawn.Reopen{Path: texts[2+i], Flags: int(how)}
		}
	}
	for _, o := range f.Objects("mounts", maxList, "kind", "texts", "flags", "mode", "data", "access") {
		m := spawn.Mount{Kind: spawn.MountKind(o.Int("kind", 0, 255)), Mode: uint32(o.Int("mode", 0, 0o7777))}
		if texts := d.texts(o, 3); texts != nil {
			m.Path, m.Source, m.FSType, m.Options = texts[0], texts[1], texts[2], texts[3:]
		}
		b := flags(o, "flags", 7)
		m.Writable, m.Exec, m.Devices, m.Recursive, m.OneMount = b[2], b[3], b[4], b[5], b[6]
		if b[0] {
			m.Held = take()
		}
		if b[1] {
			m.Over = take()
		}
		data, err := base64.StdEncoding.DecodeString(o.String("data"))
		d.fail(err)
		m.Data = data
		if access := d.numbers(o.Strings("access", 1), 64); len(access) == 1 {
			m.Access = access[0]
		}
		n.Mounts = append(n.Mounts, m)
	}
	return n
}

// texts reads a list of at least so many strings.
func (d *unwire) texts(f *strictjson.Fields, atLeast int) []string {
	list, err := unpacked(f.String("texts"))
	d.fail(err)
	if len(list) < atLeast {
		d.fail(fmt.Errorf("%s texts", strconv.Itoa(len(list))))
		return nil
	}
	return list
}

func (d *unwire) idMap(f *strictjson.Fields, key string) []spawn.IDMap {
	flat := d.numbers(f.Strings(key, 3*maxMaps), 32)
	if len(flat)%3 != 0 {
		d.fail(errors.New("an id map that is cut short"))
		return nil
	}
	var m []spawn.IDMap
	for ; len(flat) > 0; flat = flat[3:] {
		m = append(m, spawn.IDMap{Inside: uint32(flat[0]), Outside: uint32(flat[1]), Count: uint32(flat[2])})
	}
	return m
}

// maxMaps is how many lines the kernel takes (user_namespaces(7)).
const maxMaps = 340
