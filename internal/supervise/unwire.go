package supervise

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"brainbox/internal/spawn"
	"brainbox/internal/strictjson"
)

// MaxJob bounds the text of one job, in bytes: the kernel takes 2 MiB of arguments and
// environment (execve(2)), which base64 makes longer.
const MaxJob = 4 << 20

const maxList = 4096

// Decode reads what [Job.Encode] wrote and puts the descriptors that came with it in
// place. A job that does not fit its descriptors is refused whole.
func Decode(text []byte, fds []int) (*Job, error) {
	v, err := strictjson.Decode(text, strictjson.Limits{Bytes: MaxJob})
	if err != nil {
		return nil, err
	}
	f := strictjson.Bind(v, "path", "argv", "env", "filter", "unconfined", "umask", "limits", "identity", "groups",
		"bounding", "probes", "timeout", "kill_after", "output_limit", "relay", "sanitize", "ruleset", "dir", "cgroup", "pass", "namespaces", "broker")
	j := &Job{
		Timeout: time.Duration(f.Int("timeout", 0, 1<<62)), KillAfter: time.Duration(f.Int("kill_after", 0, 1<<62)),
		OutputLimit: f.Int("output_limit", 0, 1<<62), Sanitize: f.Bool("sanitize"),
	}
	relay := flags(f, "relay", 2)
	d := &unwire{f: f}
	j.Relay[1], j.Relay[2] = relay[0], relay[1]
	j.Spawn = spawn.Request{
		Path: d.one("path"), Argv: d.list("argv"), Env: d.list("env"), Filter: d.filter(), Unconfined: f.Bool("unconfined"),
		Umask: int(f.Int("umask", 0, 0o777)), Limits: d.limits(), Identity: d.identity(), Groups: f.Bool("groups"),
		Bounding: f.Bool("bounding"), Probes: d.probes(), Session: true, DieWithParent: true,
	}
	if err := d.descriptors(j, fds); err != nil {
		return nil, err
	}
	if err := errors.Join(f.Err(), d.err); err != nil {
		return nil, err
	}
	return j, nil
}

// unwire keeps the first failure that is not one of form.
type unwire struct {
	f   *strictjson.Fields
	err error
}

func (d *unwire) fail(err error) {
	if d.err == nil && err != nil {
		d.err = fmt.Errorf("supervise: %w", err)
	}
}

func (d *unwire) list(key string) []string {
	list, err := unpacked(d.f.String(key))
	d.fail(err)
	return list
}

func (d *unwire) one(key string) string {
	list := d.list(key)
	if len(list) != 1 {
		d.fail(fmt.Errorf("%s is not one string", key))
		return ""
	}
	return list[0]
}

func (d *unwire) filter() []unix.SockFilter {
	raw, err := base64.StdEncoding.DecodeString(d.f.String("filter"))
	d.fail(err)
	if len(raw)%filterSize != 0 || len(raw)/filterSize > unix.BPF_MAXINSNS {
		d.fail(fmt.Errorf("a filter of %d bytes", len(raw)))
		return nil
	}
	if len(raw) == 0 {
		return nil
	}
	p := make([]unix.SockFilter, len(raw)/filterSize)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&p[0])), len(raw)), raw)
	return p
}

func (d *unwire) numbers(list []string, bits int) []uint64 {
	out := make([]uint64, 0, len(list))
	for _, s := range list {
		n, err := strconv.ParseUint(s, 10, bits)
		d.fail(err)
		out = append(out, n)
	}
	return out
}

func (d *unwire) limits() []spawn.Limit {
	var out []spawn.Limit
	for _, o := range d.f.Objects("limits", 64, "resource", "values") {
		n := d.numbers(o.Strings("values", 2), 64)
		if len(n) != 2 {
			d.fail(errors.New("a limit without two values"))
			continue
		}
		out = append(out, spawn.Limit{Resource: int(o.Int("resource", 0, 64)), Cur: n[0], Max: n[1]})
	}
	return out
}

func (d *unwire) identity() *spawn.Identity {
	if v := d.f.Any("identity"); v == nil || v.Kind == strictjson.KindNull {
		return nil
	}
	n := d.numbers(d.f.Strings("identity", maxList), 32)
	if len(n) < 2 {
		d.fail(errors.New("an identity without user and group"))
		return nil
	}
	id := &spawn.Identity{UID: uint32(n[0]), GID: uint32(n[1])}
	for _, g := range n[2:] {
		id.Groups = append(id.Groups, uint32(g))
	}
	return id
}

func (d *unwire) probes() []spawn.Probe {
	var out []spawn.Probe
	for _, o := range d.f.Objects("probes", 64, "name", "nr", "args", "path", "path_arg", "errnos") {
		p := spawn.Probe{Name: o.String("name"), Nr: uintptr(o.Int("nr", 0, 1<<31)), PathArg: int(o.Int("path_arg", 0, 5))}
		path, err := unpacked(o.String("path"))
		d.fail(err)
		if len(path) == 1 {
			p.Path = path[0]
		}
		for i, a := range d.numbers(o.Strings("args", len(p.Args)), 64) {
			p.Args[i] = uintptr(a)
		}
		for _, e := range d.numbers(o.Strings("errnos", 4), 16) {
			p.Errnos = append(p.Errnos, syscall.Errno(e))
		}
		out = append(out, p)
	}
	return out
}

// descriptors deals out what came with the job, in the order of Encode.
func (d *unwire) descriptors(j *Job, fds []int) error {
	r := &j.Spawn
	take := func() int {
		if len(fds) == 0 {
			d.fail(errors.New("fewer descriptors than the job needs"))
			return -1
		}
		fd := fds[0]
		fds = fds[1:]
		return fd
	}
	for i := range r.Stdio {
		r.Stdio[i] = take()
	}
	for _, x := range []struct {
		key string
		fd  *int
	}{{"ruleset", &r.Ruleset}, {"dir", &r.Dir}, {"cgroup", &r.Cgroup}} {
		if d.f.Bool(x.key) {
			*x.fd = take()
		}
	}
	pass := d.f.Any("pass")
	if pass == nil || pass.Kind != strictjson.KindArray || len(pass.Items) > maxList {
		return errors.New("supervise: pass is not a list")
	}
	for _, item := range pass.Items {
		to, err := strconv.Atoi(item.Text)
		d.fail(err)
		r.Pass = append(r.Pass, spawn.Pass{From: take(), To: to})
	}
	r.Namespaces = d.namespaces(take)
	j.Broker = d.broker(take)
	if len(fds) != 0 {
		return fmt.Errorf("supervise: %d descriptors more than the job needs", len(fds))
	}
	return nil
}

// flags reads a list of exactly n booleans.
func flags(f *strictjson.Fields, key string, n int) []bool {
	out := make([]bool, n)
	v := f.Any(key)
	if v == nil || v.Kind != strictjson.KindArray || len(v.Items) != n {
		f.Invalid(key, "not a list of the right length")
		return out
	}
	for i, item := range v.Items {
		if item.Kind != strictjson.KindBool {
			f.Invalid(key, "not a list of booleans")
		}
		out[i] = item.Bool
	}
	return out
}
