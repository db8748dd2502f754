package launcher

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"brainbox/internal/userdb"
	"brainbox/policy"
)

// maxEnvFile bounds an --env-file, in bytes.
const maxEnvFile = 1 << 20

// observeEnv reads the files of variables.
func (f *Facts) observeEnv(p *policy.Policy) error {
	for _, file := range p.Env.Files {
		text, err := readEnvFile(file.Abs)
		if err != nil {
			return &Refusal{
				Status: StatusRefused, Clause: "env", Message: "environment file: " + err.Error(),
				Hint: "it holds one NAME=VALUE a line",
			}
		}
		f.EnvFiles = append(f.EnvFiles, EnvFile{Name: file.Text, Text: text})
	}
	return nil
}

// readEnvFile reads a file of variables, or a pipe: the shell's <(command) is one.
func readEnvFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxEnvFile+1))
	if err == nil && len(text) > maxEnvFile {
		err = fmt.Errorf("%q is larger than %d bytes", name, maxEnvFile)
	}
	return text, err
}

// observeIdentity looks up who the program is to become. Only root can become somebody
// else; whether that is so is the plan's to say.
func (f *Facts) observeIdentity(p *policy.Policy) error {
	if !p.Sandbox.Identity.Set {
		return nil
	}
	if f.Place.raised != nil {
		f.Identity = &f.Place.raised.identity
		return nil
	}
	want := p.Sandbox.Identity.V
	db := userdb.DB{Passwd: readSmall("/etc/passwd"), Group: readSmall("/etc/group")}
	bad := func(what string, err error) error {
		return &Refusal{
			Status: StatusRefused, Clause: "capabilities", Message: fmt.Sprintf("identity: %s: %v", what, err),
			Hint: "name a user of /etc/passwd, or use the numeric id",
		}
	}
	uid, gid, err := db.User(want.User)
	if err != nil {
		return bad("user "+strconv.Quote(want.User), err)
	}
	id := &IdentityFact{UID: uid, GID: gid, User: want.User}
	if want.Group != "" {
		if id.GID, err = db.GID(want.Group); err != nil {
			return bad("group "+strconv.Quote(want.Group), err)
		}
	}
	for _, name := range want.Groups {
		g, err := db.GID(name)
		if err != nil {
			return bad("group "+strconv.Quote(name), err)
		}
		id.Groups = append(id.Groups, g)
	}
	if uid == 0 || id.GID == userdb.NoID || id.GID == 0 || slices.Contains(id.Groups, 0) {
		return bad("user "+strconv.Quote(want.User), fmt.Errorf("root, group root, or no group is no identity to drop to"))
	}
	who := passwdEntry(db.Passwd, int(uid))
	id.Home = who.home
	if who.name != "" {
		id.User = who.name
	}
	f.Identity = id
	return nil
}
