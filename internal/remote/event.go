package remote

import (
	"encoding/base64"
	"errors"
	"syscall"
	"time"

	"brainbox/internal/broker"
	"brainbox/internal/spawn"
	"brainbox/internal/strictjson"
	"brainbox/internal/supervise"
)

func greeting(version string) []byte {
	v := strictjson.Object(strictjson.Pair("protocol", strictjson.Text(Protocol)), strictjson.Pair("version", strictjson.Text(version)))
	return strictjson.Append(nil, &v)
}

func startedEvent(pid int) []byte {
	v := strictjson.Object(strictjson.Pair("event", strictjson.Text("started")), strictjson.Pair("pid", strictjson.Int(int64(pid))))
	return strictjson.Append(nil, &v)
}

// refusedEvent keeps the failing step, so that the host's error is that of a start in its
// own process.
func refusedEvent(err error) []byte {
	v := strictjson.Object(strictjson.Pair("event", strictjson.Text("refused")), strictjson.Pair("message", strictjson.Text(err.Error())))
	var e *spawn.Error
	if errors.As(err, &e) {
		v.Add("step", strictjson.Int(int64(e.Step)))
		v.Add("call", strictjson.Text(e.Call))
		v.Add("errno", strictjson.Int(int64(e.Errno)))
		if e.Path != "" { // which need not be text
			v.Add("mount", strictjson.Int(int64(e.Mount)))
			v.Add("path", strictjson.Text(base64.StdEncoding.EncodeToString([]byte(e.Path))))
		}
	}
	return strictjson.Append(nil, &v)
}

func exitedEvent(r *supervise.Result) []byte {
	survivors := make([]strictjson.Value, 0, len(r.Survivors))
	for _, s := range r.Survivors {
		survivors = append(survivors, strictjson.Object(
			strictjson.Pair("pid", strictjson.Int(int64(s.PID))), strictjson.Pair("uid", strictjson.Int(int64(s.UID)))))
	}
	v := strictjson.Object(
		strictjson.Pair("event", strictjson.Text("exited")),
		strictjson.Pair("status", strictjson.Int(int64(r.Status))),
		strictjson.Pair("code", strictjson.Int(int64(r.Code))),
		strictjson.Pair("signal", strictjson.Int(int64(r.Signal))),
		strictjson.Pair("timed_out", strictjson.Bool(r.TimedOut)),
		strictjson.Pair("truncated", strictjson.Bool(r.Truncated)),
		strictjson.Pair("survivors", strictjson.Array(survivors...)),
		strictjson.Pair("duration_ns", strictjson.Int(int64(r.Duration))),
		strictjson.Pair("peak_rss_kib", strictjson.Int(r.PeakRSS)),
		strictjson.Pair("connects", strictjson.Object(
			strictjson.Pair("connected", strictjson.Int(r.Broker.Connected)),
			strictjson.Pair("refused", strictjson.Int(r.Broker.Refused)),
			strictjson.Pair("unreadable", strictjson.Int(r.Broker.Unreadable)))),
	)
	return strictjson.Append(nil, &v)
}

// event is what a spawner says of a run.
type event struct {
	kind   string
	pid    int
	err    error
	result *supervise.Result
}

// stepError is the error of a start in another process.
func stepError(f *strictjson.Fields) *spawn.Error {
	e := &spawn.Error{
		Step: spawn.Step(f.Int("step", 0, int64(spawn.StepReaper))), Call: f.String("call"),
		Errno: syscall.Errno(f.Int("errno", 0, 4095)),
	}
	if f.Has("path") {
		path, err := base64.StdEncoding.DecodeString(f.String("path"))
		if err != nil {
			f.Invalid("path", "not base64")
		}
		e.Mount, e.Path = int(f.Int("mount", 0, 1<<20)), string(path)
	}
	return e
}

func decodeEvent(data []byte) (event, error) {
	v, err := strictjson.Decode(data, strictjson.Limits{})
	if err != nil {
		return event{}, err
	}
	f := strictjson.BindLenient(v)
	e := event{kind: f.Enum("event", "started", "refused", "exited")}
	switch e.kind {
	case "started":
		e.pid = int(f.Int("pid", 1, 1<<31))
	case "refused":
		e.err = errors.New(f.String("message"))
		if f.Has("step") {
			e.err = stepError(f)
		}
	case "exited":
		e.result = &supervise.Result{
			Status: int(f.Int("status", 0, 255)), Code: int(f.Int("code", -1, 255)), Signal: syscall.Signal(f.Int("signal", 0, 64)),
			TimedOut: f.Bool("timed_out"), Truncated: f.Bool("truncated"), Duration: time.Duration(f.Int("duration_ns", 0, 1<<62)),
			PeakRSS: f.Int("peak_rss_kib", 0, 1<<40),
		}
		c := f.Object("connects", "connected", "refused", "unreadable")
		e.result.Broker = broker.Stats{
			Connected: c.Int("connected", 0, 1<<62), Refused: c.Int("refused", 0, 1<<62), Unreadable: c.Int("unreadable", 0, 1<<62),
		}
		for _, s := range f.Objects("survivors", 1<<16, "pid", "uid") {
			e.result.Survivors = append(e.result.Survivors, supervise.Survivor{PID: int(s.Int("pid", 1, 1<<31)), UID: int(s.Int("uid", -1, 1<<32))})
		}
	}
	return e, f.Err()
}
