package launcher

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"brainbox/internal/setuid"
	"brainbox/internal/spawn"
	"brainbox/internal/trustpath"
	"brainbox/internal/userdb"
	"brainbox/policy"
)

// raisedStart is what a set-uid start did while it was root's, before it became the identity.
type raisedStart struct {
	identity IdentityFact
	dir      *runDir       // the private folders
	limits   []spawn.Limit // the caller's, which the program gets back
}

// umaskRaised is the program's where the identity shares folders with the caller's group
// (contract brainkit §1.6, step 6).
const umaskRaised = 0o002

// ExecPlanRaised is [ExecPlan] for a start that the set-uid bit made root's, by the user with
// the real uid caller. Irreversible: it reads the policy and the accounts, decides whether
// he may call, opens the private folders of the identity, and then becomes the identity for
// good, before it looks at anything that the caller names. limits are his resource limits.
//
// An error from before that moment tells nothing of a file that the caller could not read.
func ExecPlanRaised(caller uint32, limits []setuid.Limit, environ, argv []string) (*Facts, *Plan, error) {
	if lookup(environ, ExecPolicyEnv) != "" {
		return nil, nil, notHonoured()
	}
	layer, t, err := takeIdentity(caller)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range limits {
		t.limits = append(t.limits, spawn.Limit(l))
	}
	place, err := Look(withoutFixed(environ))
	if err != nil {
		return nil, nil, err
	}
	place.raised = t
	if err := place.become(layer); err != nil {
		return nil, nil, err
	}
	return execPlan(place, layer, argv)
}

// takeIdentity is everything that is done as root.
func takeIdentity(caller uint32) (*policy.Layer, *raisedStart, error) {
	layer, err := raisedPolicy()
	if err != nil {
		return nil, nil, veiled(err)
	}
	id, err := raisedIdentity(caller, layer)
	if err != nil {
		return nil, nil, err
	}
	t := &raisedStart{identity: *id}
	if t.dir, err = raisedDir(layer, id); err != nil {
		return nil, nil, err
	}
	if err := setuid.Drop(setuid.Target{UID: id.UID, GID: id.GID, Groups: id.Groups}); err != nil {
		return nil, nil, asRefusal(err)
	}
	return layer, t, nil
}

// raisedPolicy reads exec.toml alone: an extended file could be the caller's by what the
// policy's words come to, and brainbox-kill would not read its identity.
func raisedPolicy() (*policy.Layer, error) {
	name, text, err := readExecPolicy(nil, 0, 0)
	if err != nil {
		return nil, err
	}
	layer, err := policy.Parse(policy.KindExec, name, text)
	if err != nil {
		return nil, err
	}
	for _, e := range layer.Extends {
		if _, ok := policy.Builtin(e.V); !ok {
			return nil, &Refusal{
				Status: StatusNotRun, Message: ExecPolicyPath + ": extends: a set-uid start knows built-in profiles only",
				Hint: "put what the other file says into " + ExecPolicyPath,
			}
		}
	}
	return layer, nil
}

// raisedIdentity decides whether the caller may, and who the program will be.
func raisedIdentity(caller uint32, layer *policy.Layer) (*IdentityFact, error) {
	want := layer.Policy.Sandbox.Identity
	if !want.Set {
		return nil, veiled(&Refusal{
			Status: StatusNotRun, Message: "a set-uid start needs an identity, and " + ExecPolicyPath + " has none",
			Hint: "[sandbox] identity says who programs run as, callers who may call",
		})
	}
	cfg := setuid.Config{User: want.V.User, Group: want.V.Group, Groups: want.V.Groups}
	for _, c := range layer.Policy.Sandbox.Callers {
		cfg.Callers = append(cfg.Callers, c.V)
	}
	passwd := readSmall("/etc/passwd")
	to, err := setuid.Decide(caller, cfg, userdb.DB{Passwd: passwd, Group: readSmall("/etc/group")})
	switch {
	case errors.Is(err, fs.ErrPermission): // tells him of himself alone
		return nil, asRefusal(err)
	case err != nil:
		return nil, veiled(asRefusal(err))
	}
	id := &IdentityFact{UID: to.UID, GID: to.GID, Groups: to.Groups, User: want.V.User}
	who := passwdEntry(passwd, int(to.UID))
	id.Home = who.home
	if who.name != "" {
		id.User = who.name
	}
	return id, nil
}

// raisedDir opens the private folders, from a folder that is root's alone: no name on the
// way can be another's by the time it is used.
func raisedDir(layer *policy.Layer, id *IdentityFact) (*runDir, error) {
	base, name := "/tmp", "brainbox-exec-"+itoa(int(id.UID))
	if root := layer.Policy.Sandbox.TmpRoot; root != nil {
		base, name = root.Text, itoa(int(id.UID))
		if !strings.HasPrefix(base, "/") {
			return nil, veiled(&Refusal{Status: StatusNotRun, Message: "tmp_root: a set-uid start needs an absolute path"})
		}
	}
	// The reason is for root: it would tell which folders there are that only root sees.
	unusable := &Refusal{
		Status: StatusNotRun, Message: "the private folders of the identity cannot be opened",
		Hint: "tmp_root and its folders must exist, be root's and not be writable by others; brainbox-exec, called by root, says more",
	}
	parent, err := trustpath.Open(base, trustpath.Rule{Owners: []uint32{0}, AnyGroup: true, Sticky: true})
	if err != nil {
		return nil, unusable
	}
	defer parent.Close()
	fd, err := openBaseAt(int(parent.Fd()), name, base+"/"+name)
	if err != nil {
		return nil, unusable
	}
	r := &runDir{path: base + "/" + name, fd: fd}
	if r.fillExec(int(id.UID), int(id.GID), true) != nil {
		return nil, unusable
	}
	return r, nil
}

// veiled hides what an error would tell a caller who cannot read the policy: its text.
func veiled(err error) error {
	// access(2) asks for the real user, without his capabilities.
	if seen := unix.Access(ExecPolicyPath, unix.R_OK); seen == nil || errors.Is(seen, unix.ENOENT) {
		return err
	}
	return &Refusal{
		Status: StatusNotRun, Message: "the policy " + ExecPolicyPath + " cannot be used",
		Hint: "root sees why: brainbox check --exec",
	}
}

// withoutFixed leaves out of the caller's environment what is fixed for the program (contract
// brainkit §1.6, step 6), and what sudo tells of him. TMPDIR would be granted: with it he would
// choose among all folders of the identity that are closed to others, its keys first of all.
func withoutFixed(environ []string) []string {
	var list []string
	seen := map[string]bool{}
	for _, s := range environ {
		name, _, ok := strings.Cut(s, "=")
		switch {
		case !ok, name == "", seen[name], strings.HasPrefix(name, "SUDO_"):
			continue
		case name == "HOME", name == "USER", name == "LOGNAME", name == "PATH", name == "SHELL", name == "TMPDIR":
			continue
		}
		seen[name] = true
		list = append(list, s)
	}
	return list
}

// asRefusal gives an error of package setuid the status of the wrapper.
func asRefusal(err error) error {
	r := &Refusal{Status: StatusNotRun, Message: err.Error()}
	var s *setuid.Refusal
	if errors.As(err, &s) {
		r.Hint = s.Hint
	}
	return r
}
