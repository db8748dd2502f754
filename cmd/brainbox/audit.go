package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"brainbox/bridge/audit"
	"brainbox/internal/strictjson"
	"brainbox/launcher"
)

// statusBroken is the status of an audit file whose chain does not hold.
const statusBroken = 1

// openAudit opens an audit file for reading, "" the usual one, as it is when nobody writes to
// it: the reader ends there. A FIFO or a device is refused.
func openAudit(path string) (*os.File, io.Reader, error) {
	if path == "" {
		place, err := launcher.Look(os.Environ())
		if err != nil {
			return nil, nil, err
		}
		path = place.StateDir() + "/" + audit.Name
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, refuse(oneLine(err.Error()), "the audit file is made by the first run with --bridge, --gate or --ask")
	}
	st, err := whole(f)
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: unix.EINVAL}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, io.LimitReader(f, st.Size()), nil
}

// whole looks at a file while nobody writes to it, if that is not long.
func whole(f *os.File) (os.FileInfo, error) {
	for range 50 {
		if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
			defer func() { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }()
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return f.Stat()
}

// verifyAudit is brainbox events --verify.
func verifyAudit(c *cli.Context, status *int) error {
	path := c.String("audit")
	if c.NArg() > 1 || c.NArg() == 1 && path != "" {
		return refuse("--verify takes one file", "")
	}
	if c.NArg() == 1 {
		path = c.Args().First()
	}
	var head audit.Hash
	if text := c.String("head"); text != "" {
		var err error
		if head, err = audit.ParseHash(text); err != nil {
			return refuse("--head "+quote(text)+": no hash", "a hash is 64 lower-case hexadecimal digits; --verify prints that of the last line")
		}
	}
	f, in, err := openAudit(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := audit.Verify(in, head)
	if err != nil {
		return err
	}
	if !r.OK() {
		*status = statusBroken
	}
	if c.Bool("json") {
		v := reportValue(r)
		_, err = c.App.Writer.Write(strictjson.AppendLine(nil, &v))
		return err
	}
	return printReport(c.App.Writer, r, f.Name())
}

// printReport says what was found, one line each.
func printReport(w io.Writer, r *audit.Report, name string) error {
	out := bufio.NewWriter(w)
	for _, t := range r.Torn {
		printf(out, "line %d, byte %d: torn: %d bytes that a writer left when it died\n", t.Line, t.Offset, t.Bytes)
	}
	for _, p := range r.Problems {
		printf(out, "%s\n", oneLine(p.String()))
	}
	if r.Lost > 0 {
		printf(out, "%d lines say that others could not be written\n", r.Lost)
	}
	switch {
	case r.More:
		printf(out, "%s: there is more that is wrong\n", quote(name))
	case !r.OK():
		printf(out, "%s: the chain does not hold\n", quote(name))
	default:
		printf(out, "%s: %d lines, the chain holds; the last is %d, %s\n", quote(name), r.Lines, r.Seq, r.Head)
	}
	return out.Flush()
}

// reportValue is the report as one object, schema brainbox/audit-report/v1.
func reportValue(r *audit.Report) strictjson.Value {
	problems, torn := strictjson.Array(), strictjson.Array()
	for _, p := range r.Problems {
		problems.Items = append(problems.Items, strictjson.Object(strictjson.Pair("fault", strictjson.Text(string(p.Fault))),
			strictjson.Pair("line", strictjson.Int(int64(p.Line))), strictjson.Pair("offset", strictjson.Int(p.Offset)), strictjson.Pair("text", strictjson.Text(p.Text))))
	}
	for _, t := range r.Torn {
		torn.Items = append(torn.Items, strictjson.Object(strictjson.Pair("line", strictjson.Int(int64(t.Line))),
			strictjson.Pair("offset", strictjson.Int(t.Offset)), strictjson.Pair("bytes", strictjson.Int(t.Bytes))))
	}
	return strictjson.Object(
		strictjson.Pair("schema", strictjson.Text("brainbox/audit-report/v1")), strictjson.Pair("ok", strictjson.Bool(r.OK())),
		strictjson.Pair("lines", strictjson.Int(int64(r.Lines))), strictjson.Pair("seq", strictjson.Uint(r.Seq)),
		strictjson.Pair("head", strictjson.Text(r.Head.String())), strictjson.Pair("lost", strictjson.Int(int64(r.Lost))),
		strictjson.Pair("torn", torn), strictjson.Pair("problems", problems), strictjson.Pair("more", strictjson.Bool(r.More)),
	)
}

// printAudit is brainbox events --audit: the lines of a file, made visible. What is no line
// is shown as text.
func printAudit(c *cli.Context) error {
	f, in, err := openAudit(c.String("audit"))
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriter(c.App.Writer)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 2<<20)
	for lines.Scan() {
		v, err := strictjson.Decode(lines.Bytes(), strictjson.Limits{Proto: true})
		switch {
		case err != nil && !c.Bool("json"):
			printf(out, "? %s\n", oneLine(lines.Text()))
		case err != nil: // not JSON: --verify tells of it
		case c.Bool("json"):
			_, _ = out.Write(strictjson.AppendLine(nil, v))
		default:
			printf(out, "%s\n", auditLine(v))
		}
	}
	if err := lines.Err(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", quote(f.Name()), err), out.Flush())
	}
	return out.Flush()
}

// auditLine is a line of the file for people.
func auditLine(v *strictjson.Value) string {
	text := func(v *strictjson.Value) string {
		if v == nil || v.Kind != strictjson.KindString && v.Kind != strictjson.KindNumber {
			return ""
		}
		return oneLine(v.Text)
	}
	data := v.Get("data")
	what := ""
	switch topic := data.Get("topic"); {
	case topic != nil && data.Get("data") != nil:
		what = dataLine(text(topic), data.Get("data"))
	case data != nil:
		what = string(strictjson.Append(nil, data))
	}
	return text(v.Get("time")) + " " + text(v.Get("seq")) + " " + text(v.Get("session")) + " " + text(v.Get("type")) + " " + what
}
