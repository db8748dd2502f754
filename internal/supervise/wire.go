package supervise

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
	"brainbox/internal/strictjson"
)

// Encode writes a job as canonical JSON, and lists the descriptors that belong to it in
// the order in which [Decode] expects them: standard input, output and error, then those
// of ruleset, directory and cgroup that the job has, then the passed ones, then those that
// its mounts hold, then those of its broker's sockets. Strings that need not be text are in base64.
// What is code stays behind: the channel, the calls, and Namespaces.Network. A job with a Watch
// must not be sent: its filter is for a listener.
func (j *Job) Encode() (text []byte, fds []int) {
	r := &j.Spawn
	fds = append(fds, r.Stdio[:]...)
	v := strictjson.Object(
		strictjson.Pair("path", packed(r.Path)),
		strictjson.Pair("argv", packed(r.Argv...)),
		strictjson.Pair("env", packed(r.Env...)),
		strictjson.Pair("filter", strictjson.Text(base64.StdEncoding.EncodeToString(filterBytes(r.Filter)))),
		strictjson.Pair("unconfined", strictjson.Bool(r.Unconfined)),
		strictjson.Pair("umask", strictjson.Int(int64(r.Umask))),
		strictjson.Pair("limits", limitsJSON(r.Limits)),
		strictjson.Pair("identity", identityJSON(r.Identity)),
		strictjson.Pair("groups", strictjson.Bool(r.Groups)),
		strictjson.Pair("bounding", strictjson.Bool(r.Bounding)),
		strictjson.Pair("probes", probesJSON(r.Probes)),
		strictjson.Pair("timeout", strictjson.Int(int64(j.Timeout))),
		strictjson.Pair("kill_after", strictjson.Int(int64(j.KillAfter))),
		strictjson.Pair("output_limit", strictjson.Int(j.OutputLimit)),
		strictjson.Pair("relay", strictjson.Array(strictjson.Bool(j.Relay[1]), strictjson.Bool(j.Relay[2]))),
		strictjson.Pair("sanitize", strictjson.Bool(j.Sanitize)),
	)
	for _, d := range []struct {
		key string
		fd  int
	}{{"ruleset", r.Ruleset}, {"dir", r.Dir}, {"cgroup", r.Cgroup}} {
		v.Add(d.key, strictjson.Bool(d.fd > 0))
		if d.fd > 0 {
			fds = append(fds, d.fd)
		}
	}
	pass := make([]strictjson.Value, 0, len(r.Pass))
	for _, p := range r.Pass {
		pass = append(pass, strictjson.Int(int64(p.To)))
		fds = append(fds, p.From)
	}
	v.Add("pass", strictjson.Array(pass...))
	inside, held := namespacesJSON(r.Namespaces)
	v.Add("namespaces", inside)
	fds = append(fds, held...)
	connects, held := brokerJSON(j.Broker)
	v.Add("broker", connects)
	fds = append(fds, held...)
	return strictjson.Append(nil, &v), fds
}

// packed joins strings that hold no NUL, as argv and environ do, and encodes them.
func packed(list ...string) strictjson.Value {
	if len(list) == 0 {
		return strictjson.Text("")
	}
	return strictjson.Text(base64.StdEncoding.EncodeToString([]byte(strings.Join(list, "\x00") + "\x00")))
}

func unpacked(text string) ([]string, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) == 0 {
		return nil, err
	}
	if raw[len(raw)-1] != 0 {
		return nil, fmt.Errorf("supervise: a list of strings is cut short")
	}
	return strings.Split(string(raw[:len(raw)-1]), "\x00"), nil
}

const filterSize = int(unsafe.Sizeof(unix.SockFilter{}))

// filterBytes is a program in memory order, which both sides share: they run on one
// machine.
func filterBytes(p []unix.SockFilter) []byte {
	if len(p) == 0 {
		return nil
	}
	return bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(&p[0])), len(p)*filterSize))
}

func limitsJSON(limits []spawn.Limit) strictjson.Value {
	list := make([]strictjson.Value, 0, len(limits))
	for _, l := range limits {
		list = append(list, strictjson.Object(
			strictjson.Pair("resource", strictjson.Int(int64(l.Resource))),
			strictjson.Pair("values", numbers(l.Cur, l.Max))))
	}
	return strictjson.Array(list...)
}

// numbers writes unsigned numbers as strings: a JSON reader may keep only 53 bits.
func numbers[T ~uint64 | ~uint32 | ~uintptr](list ...T) strictjson.Value {
	texts := make([]string, 0, len(list))
	for _, n := range list {
		texts = append(texts, strconv.FormatUint(uint64(n), 10))
	}
	return strictjson.Texts(texts)
}

func identityJSON(id *spawn.Identity) strictjson.Value {
	if id == nil {
		return strictjson.Null()
	}
	return numbers(append([]uint32{id.UID, id.GID}, id.Groups...)...)
}

func probesJSON(probes []spawn.Probe) strictjson.Value {
	list := make([]strictjson.Value, 0, len(probes))
	for _, p := range probes {
		list = append(list, strictjson.Object(
			strictjson.Pair("name", strictjson.Text(p.Name)),
			strictjson.Pair("nr", strictjson.Uint(uint64(p.Nr))),
			strictjson.Pair("args", numbers(p.Args[:]...)),
			strictjson.Pair("path", packed(p.Path)),
			strictjson.Pair("path_arg", strictjson.Int(int64(p.PathArg))),
			strictjson.Pair("errnos", numbers(p.Errnos...))))
	}
	return strictjson.Array(list...)
}
