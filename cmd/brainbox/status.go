package main

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/netask"
	"brainbox/internal/strictjson"
	"brainbox/launcher"
)

// lastLine is how long the last line of a run waits for a reader that is slow: the program can
// fill any pipe with what it has refused to it, and must not hide its end so.
const lastLine = 2 * time.Second

// statusLines writes the status of a run to a descriptor of the caller, one JSON object
// a line (docs/interfaces.md). It never blocks the run: what a slow reader misses is
// counted. A nil receiver writes nothing.
type statusLines struct {
	mu      sync.Mutex // events of the network come from another goroutine
	fd      int
	socket  bool
	rest    []byte // of a line that the reader has taken in part
	whole   bool
	failed  error // of the last write
	dropped int64
	ended   bool
}

// openStatus takes --status-fd. The descriptor is made close-on-exec and non-blocking:
// the program must not have it, and the run must not wait for its reader.
func openStatus(flag string) (*statusLines, error) {
	if flag == "" {
		return nil, nil
	}
	fd, err := strconv.Atoi(flag)
	if err != nil || fd < 3 {
		return nil, refuse("--status-fd "+quote(flag)+" is no descriptor from 3 on", "brainbox run --status-fd 3 … 3>status.json")
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || !inherited(fd) {
		return nil, refuse("--status-fd "+flag+": it is not open", "brainbox run --status-fd 3 … 3>status.json")
	}
	unix.CloseOnExec(fd)
	if flags&unix.O_ACCMODE == unix.O_RDONLY {
		return nil, refuse("--status-fd "+flag+": it is open for reading only", "brainbox run --status-fd 3 … 3>status.json")
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	s := &statusLines{fd: fd, socket: st.Mode&unix.S_IFMT == unix.S_IFSOCK}
	if kind := st.Mode & unix.S_IFMT; kind == unix.S_IFIFO || kind == unix.S_IFCHR {
		// O_NONBLOCK belongs to the open file, which the caller may share with others: so
		// the pipe is opened once more, for us alone.
		own, err := unix.Open("/proc/self/fd/"+flag, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		if err != nil {
			return nil, refuse("--status-fd "+flag+": "+err.Error(), "a file, a pipe or a socket")
		}
		unix.Close(fd)
		s.fd = own
	}
	return s, nil
}

func (s *statusLines) write(v strictjson.Value) {
	if len(s.rest) > 0 && !s.flush() {
		s.dropped++ // the reader has not taken the line before
		return
	}
	s.rest = strictjson.AppendLine(nil, &v)
	if !s.flush() && s.whole {
		s.rest, s.dropped = nil, s.dropped+1
	}
}

// flush writes what is left of a line and reports whether nothing is left. A line that
// was begun is finished before the next one, or lines would run into each other.
func (s *statusLines) flush() bool {
	line := s.rest
	var n int
	var err error
	if s.socket {
		n, err = unix.SendmsgN(s.fd, line, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	} else {
		n, err = unix.Write(s.fd, line)
	}
	if err != nil {
		n = 0
	}
	s.failed = err
	s.whole = n == 0 // nothing of this line is out
	s.rest = line[n:]
	return len(s.rest) == 0
}

// finish flushes for a reader that takes its time, as long as there is one.
func (s *statusLines) finish(until time.Time) {
	for len(s.rest) > 0 && !s.flush() {
		if s.failed == nil || errors.Is(s.failed, unix.EINTR) {
			continue
		}
		left := time.Until(until)
		if !errors.Is(s.failed, unix.EAGAIN) || left <= 0 {
			return
		}
		fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}
		_, _ = unix.Poll(fds, int(left.Milliseconds())+1) // asked for nothing, it writes again
	}
}

func (s *statusLines) started(p *launcher.Plan, pid int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(strictjson.Object(
		strictjson.Pair("event", strictjson.Text("started")),
		strictjson.Pair("time", strictjson.Text(time.Now().UTC().Format(time.RFC3339Nano))),
		strictjson.Pair("pid", strictjson.Int(int64(pid))),
		strictjson.Pair("isolation", strictjson.Text(p.Isolation)),
		strictjson.Pair("asked", strictjson.Text(p.Asked)),
		strictjson.Pair("fallback", p.FallbackJSON()),
		strictjson.Pair("degraded", strictjson.Texts(p.DegradedClauses())),
		strictjson.Pair("clauses", p.ClausesJSON(false)),
	))
}

func (s *statusLines) refused(err error) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	status, message, hint := explain(err)
	s.write(strictjson.Object(
		strictjson.Pair("event", strictjson.Text("refused")),
		strictjson.Pair("status", strictjson.Int(int64(status))),
		strictjson.Pair("clause", strictjson.Text(clauseOf(err))),
		strictjson.Pair("message", strictjson.Text(message)),
		strictjson.Pair("hint", strictjson.Text(hint)),
	))
}

func (s *statusLines) exited(r *launcher.Result) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	until := time.Now().Add(lastLine)
	if s.finish(until); len(s.rest) > 0 {
		return // nobody reads
	}
	line := exitedJSON(r, s.dropped)
	s.rest = strictjson.AppendLine(nil, &line)
	s.finish(until)
}

func exitedJSON(r *launcher.Result, dropped int64) strictjson.Value {
	code, signal := strictjson.Null(), strictjson.Null()
	if r.Signal != 0 {
		signal = strictjson.Text(unix.SignalName(r.Signal))
	} else {
		code = strictjson.Int(int64(r.Code))
	}
	survivors := make([]strictjson.Value, 0, len(r.Survivors))
	for _, one := range r.Survivors {
		survivors = append(survivors, strictjson.Object(
			strictjson.Pair("pid", strictjson.Int(int64(one.PID))), strictjson.Pair("uid", strictjson.Int(int64(one.UID)))))
	}
	return strictjson.Object(
		strictjson.Pair("event", strictjson.Text("exited")),
		strictjson.Pair("status", strictjson.Int(int64(r.Status))),
		strictjson.Pair("code", code),
		strictjson.Pair("signal", signal),
		strictjson.Pair("timed_out", strictjson.Bool(r.TimedOut)),
		strictjson.Pair("oom", strictjson.Bool(r.OOM)),
		strictjson.Pair("survivors", strictjson.Array(survivors...)),
		strictjson.Pair("created_protected", createdJSON(r.After.Protected)),
		strictjson.Pair("created_repository", strictjson.Texts(r.After.Repositories)),
		strictjson.Pair("changed_executable_config", strictjson.Texts(r.After.Config)),
		strictjson.Pair("replaced_protected", strictjson.Texts(r.After.Replaced)),
		strictjson.Pair("duration_ms", strictjson.Int(r.Duration.Milliseconds())),
		strictjson.Pair("peak_rss_kib", strictjson.Int(r.PeakRSS)),
		strictjson.Pair("connects", strictjson.Object(
			strictjson.Pair("connected", strictjson.Int(r.Broker.Connected)),
			strictjson.Pair("refused", strictjson.Int(r.Broker.Refused)),
			strictjson.Pair("unreadable", strictjson.Int(r.Broker.Unreadable)))),
		strictjson.Pair("dropped", strictjson.Int(dropped)),
	)
}

// network tells one event of the program's network; entry is that of allow_hosts.
func (s *statusLines) network(e *netask.Event, entry string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
	case s.crowded():
		s.dropped++
	default:
		s.write(networkJSON(e, entry))
	}
}

func networkJSON(e *netask.Event, entry string) strictjson.Value {
	switch {
	case e.Lost > 0:
		return strictjson.Object(strictjson.Pair("event", strictjson.Text("network_lost")), strictjson.Pair("count", strictjson.Int(e.Lost)))
	case e.Closed:
		return strictjson.Object(
			strictjson.Pair("event", strictjson.Text("network_closed")), strictjson.Pair("id", strictjson.Uint(e.ID)),
			strictjson.Pair("sent", strictjson.Int(e.Sent)), strictjson.Pair("received", strictjson.Int(e.Received)),
			strictjson.Pair("duration_ms", strictjson.Int(e.Duration.Milliseconds())))
	}
	return strictjson.Object(
		strictjson.Pair("event", strictjson.Text("network")), strictjson.Pair("id", strictjson.Uint(e.ID)),
		strictjson.Pair("path", strictjson.Text(e.Path)), strictjson.Pair("host", strictjson.Text(e.Host)),
		strictjson.Pair("port", strictjson.Int(int64(e.Port))), strictjson.Pair("allowed", strictjson.Bool(e.Allowed())),
		strictjson.Pair("reason", strictjson.Text(e.Reason)), strictjson.Pair("entry", strictjson.Text(entry)),
		strictjson.Pair("address", strictjson.Text(e.Address)))
}

// createdJSON lists what the run made; "moved" is empty for what is still there.
func createdJSON(list []launcher.Created) strictjson.Value {
	out := make([]strictjson.Value, 0, len(list))
	for i := range list {
		out = append(out, strictjson.Object(
			strictjson.Pair("path", strictjson.Text(list[i].Path)), strictjson.Pair("moved", strictjson.Text(list[i].Moved))))
	}
	return strictjson.Array(out...)
}

func (s *statusLines) close() {
	if s != nil {
		unix.Close(s.fd)
	}
}

// clauseOf is the clause that refused, "" if it was none.
func clauseOf(err error) string {
	var r *launcher.Refusal
	if errors.As(err, &r) {
		return r.Clause
	}
	return ""
}
