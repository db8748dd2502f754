package dirchain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brainbox/internal/needs"
)

// attack is one operation under interference.
type attack struct {
	Root   string
	Opts   Options `json:"-"`
	Sent   sent    // of Opts, to a child
	Op     op
	Inject []injection
	Umask  int    // 0 leaves the umask as it is
	Files  uint64 // 0 leaves the limit of open files as it is
	Filter string // calls that an outer filter answers, as "openat2:38 statx:1"
}

// sent is what can be sent of the options.
type sent struct {
	Protect             []string
	MaxFile             int64
	SkipSync, NoOpenat2 bool
}

// op is the operation.
type op struct {
	Kind    string // write (also ""), read, edit, hold, count, fill, mkdir, rename, remove, remove tree, batch
	Path    string
	To      string // of a rename, and the second path of a batch
	Mode    Mode
	Content string // of a write; what an edit puts in
	Old     string // what an edit takes out
	Base    string // the content whose hash is expected, "" for none
	Digest  string // the content that was approved, "" for none
	Perm    uint32
	Parents bool
	Linked  bool // ReplaceLinked, AllowLinked
	Endless bool // the content has no end
	N       int  // how often, of count and fill
}

// outcome is what became of it.
type outcome struct {
	Err     string   // its text
	Is      []string // the sentinels and errnos that it answers to
	Typed   bool     // it is an *Error and answers to something
	Applied bool
	Created bool
	SHA256  Hash
	Data    []byte
	Calls   []string // every call and point, in order
	Fired   int      // injections
	Leaked  []string // descriptors
}

func (o outcome) is(name string) bool { return slices.Contains(o.Is, name) }

// sentinels by name.
var sentinels = map[string]error{
	"ErrPath": ErrPath, "ErrLink": ErrLink, "ErrNotDirectory": ErrNotDirectory, "ErrNotRegular": ErrNotRegular,
	"ErrLinked": ErrLinked, "ErrMount": ErrMount, "ErrChanged": ErrChanged, "ErrStale": ErrStale,
	"ErrTooLarge": ErrTooLarge, "ErrProtected": ErrProtected, "ErrMode": ErrMode, "ErrBusy": ErrBusy,
	"ErrFilesystem": ErrFilesystem, "ErrLimit": ErrLimit, "ErrMatch": ErrMatch,
	"ErrNotExist": fs.ErrNotExist, "ErrExist": fs.ErrExist, "ErrPermission": fs.ErrPermission,
	"ErrInvalid": fs.ErrInvalid, "ErrClosed": fs.ErrClosed, "canceled": context.Canceled,
}

// told writes an error down.
func (o *outcome) told(err error) {
	if err == nil {
		return
	}
	o.Err = err.Error()
	for name, s := range sentinels {
		if errors.Is(err, s) {
			o.Is = append(o.Is, name)
		}
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		o.Is = append(o.Is, unix.ErrnoName(no))
	}
	slices.Sort(o.Is)
	var e *Error
	o.Typed = errors.As(err, &e) && len(o.Is) > 0
}

// perform does an attack in this process.
func perform(a attack) (o outcome) {
	before := openFiles()
	r, err := OpenRoot(a.Root, a.Opts)
	if err != nil {
		o.told(err)
		return o
	}
	in := injector{todo: a.Inject, root: a.Root}
	r.hook = in.hook
	a.Op.do(r, &o)
	r.hook = nil
	_ = r.Close()
	o.Calls, o.Fired = in.trace, in.fired
	for _, d := range openFiles() {
		if !slices.Contains(before, d) {
			o.Leaked = append(o.Leaked, d)
		}
	}
	return o
}

func (p op) do(r *Root, o *outcome) {
	ctx := context.Background()
	switch p.Kind {
	case "read":
		got, err := r.Read(ctx, p.Path, ReadRequest{AllowLinked: p.Linked})
		o.Data, o.SHA256 = got.Data, got.SHA256
		o.told(err)
	case "edit":
		got, err := r.Edit(ctx, p.Path, EditRequest{Old: []byte(p.Old), New: []byte(p.Content), Base: hashOf(p.Base)})
		o.Applied, o.SHA256 = got.Applied, got.SHA256
		o.told(err)
	case "count":
		o.told(count(ctx, r, p.Path, p.N))
	case "fill":
		o.told(fillOver(ctx, r, p.Path, p.Content, p.N))
	case "mkdir", "rename", "remove", "remove tree", "batch":
		p.entry(ctx, r, o)
	case "hold":
		t, err := r.Hold(p.Path)
		if err == nil {
			t.Close()
		}
		o.told(err)
	default:
		got, err := r.Write(ctx, p.Path, p.request())
		o.Applied, o.Created, o.SHA256 = got.Applied, got.Created, got.SHA256
		o.told(err)
	}
}

func (p op) request() WriteRequest {
	req := WriteRequest{
		Mode: p.Mode, Content: text(p.Content), Base: hashOf(p.Base), Digest: hashOf(p.Digest),
		Perm: p.Perm, Parents: p.Parents, ReplaceLinked: p.Linked,
	}
	if p.Endless {
		req.Content = &endless{}
	}
	return req
}

func hashOf(content string) *Hash {
	if content == "" {
		return nil
	}
	h := Sum([]byte(content))
	return &h
}

// endless gives far more than any limit in these tests, and then fails: a write that
// had no limit would fill the disk.
type endless struct{ given int }

func (e *endless) Read(b []byte) (int, error) {
	if e.given += len(b); e.given > 64<<20 {
		return 0, errors.New("the content has no end")
	}
	return len(b), nil
}

// openFiles are the open ones, each with what it is open on. What the Go
// runtime keeps for itself is not counted.
func openFiles() []string {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return []string{err.Error()}
	}
	var all []string
	for _, e := range list {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(to, "/proc/") && !strings.HasPrefix(to, "anon_inode:") {
			all = append(all, e.Name()+" "+to)
		}
	}
	return all
}

// childEnv makes the test binary a process that performs the attack in it, and
// then writes its outcome to standard output.
const childEnv = "BRAINBOX_DIRCHAIN_CHILD"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		os.Exit(child(spec, os.Stdout))
	}
	os.Exit(m.Run())
}

func child(spec string, out io.Writer) int {
	switch words := strings.Fields(spec); words[0] {
	case "race":
		return race(words[1:])
	case "lease":
		return lease(words[1])
	}
	var a attack
	if err := json.Unmarshal([]byte(spec), &a); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	a.Opts = Options{
		Protect: a.Sent.Protect, MaxFile: a.Sent.MaxFile, SkipSync: a.Sent.SkipSync, NoOpenat2: a.Sent.NoOpenat2,
	}
	if a.Umask != 0 {
		unix.Umask(a.Umask)
	}
	if err := limitFiles(a.Files); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 93
	}
	if err := installFilter(a.Filter); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	if err := json.NewEncoder(out).Encode(perform(a)); err != nil {
		return 97
	}
	return 0
}

// command is a child that will do spec; with mounts in a mount namespace of its own.
func command(t *testing.T, spec string, mounts bool) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childEnv+"="+spec, "GORACE=atexit_sleep_ms=0") // otherwise a second each
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if mounts {
		cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS
		if os.Geteuid() != 0 {
			needs.Userns(t)
			cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
		}
	}
	return cmd
}

// inChild performs an attack in a process of its own. A child that an injection
// kills gives the outcome "killed".
func inChild(t *testing.T, a attack) outcome {
	t.Helper()
	a.Sent = sent{a.Opts.Protect, a.Opts.MaxFile, a.Opts.SkipSync, a.Opts.NoOpenat2}
	spec, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	mounts := slices.ContainsFunc(a.Inject, func(i injection) bool { return i.Do == "bind" })
	cmd := command(t, string(spec), mounts)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() && status.Signal() == unix.SIGKILL {
		return outcome{Err: "killed"}
	}
	if err != nil {
		t.Fatalf("child: %v\n%s", err, &stderr)
	}
	var o outcome
	if err = json.Unmarshal(stdout.Bytes(), &o); err != nil {
		t.Fatalf("child: %v\n%s", err, &stdout)
	}
	return o
}
