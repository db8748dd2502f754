package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"brainbox/internal/strictjson"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// document is a text that could be read.
type document struct {
	spec *specs.LinuxSeccomp
	// listed is how many of its architectures stand in the list of that name.
	listed int
	// source is, for each of spec.Syscalls, its place in the text; of docker's form some
	// are left out.
	source []string
	// nameKey is the key of its names: "names", or "name" of old profiles.
	nameKey []string
}

// condition is docker's condition of a rule.
type condition struct {
	Caps      []string `json:"caps"`
	Arches    []string `json:"arches"`
	MinKernel string   `json:"minKernel"`
}

// text is both forms in one.
type text struct {
	specs.LinuxSeccomp
	ArchMap []struct {
		Architecture     specs.Arch   `json:"architecture"`
		SubArchitectures []specs.Arch `json:"subArchitectures"`
	} `json:"archMap"`
	Syscalls []struct {
		specs.LinuxSyscall
		Name     string     `json:"name"`
		Includes *condition `json:"includes"`
		Excludes *condition `json:"excludes"`
	} `json:"syscalls"`
}

// parse reads the text, and leaves j.document nil if that can not be done.
func (j *judge) parse(raw []byte) {
	root, err := strictjson.Decode(raw, strictjson.Limits{Bytes: MaxProfile})
	if err != nil {
		j.add("json", "", "%s", strings.TrimPrefix(err.Error(), "strictjson: "))
		return
	}
	if root.Kind != strictjson.KindObject {
		j.add("json", "", "the profile is %s, not an object", root.Kind)
		return
	}
	var t text
	if err := json.Unmarshal(raw, &t); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			j.add("json", kind.Field, "%s is not what belongs here, at byte %d", kind.Value, kind.Offset)
		} else {
			j.add("json", "", "%v", err)
		}
		return
	}
	j.report.Form = "oci"
	j.keys(root, "", "")
	j.resolve(&t)
}

// forms are the keys of each kind of object: those of the runtime specification, and
// those of docker and podman.
func forms(kind string) (oci, docker []string) {
	switch kind {
	case "":
		return []string{"defaultAction", "defaultErrnoRet", "architectures", "flags", "listenerPath", "listenerMetadata", "syscalls"},
			[]string{"archMap", "defaultErrno"}
	case "syscalls":
		return []string{"names", "action", "errnoRet", "args"}, []string{"name", "comment", "includes", "excludes", "errno"}
	case "args":
		return []string{"index", "value", "valueTwo", "op"}, nil
	case "archMap":
		return nil, []string{"architecture", "subArchitectures"}
	}
	return nil, []string{"caps", "arches", "minKernel"}
}

// keys tells of keys that the runtime specification does not have.
func (j *judge) keys(v *strictjson.Value, kind, place string) {
	for i := range v.Items {
		j.keys(&v.Items[i], kind, fmt.Sprintf("%s[%d]", place, i))
	}
	oci, docker := forms(kind)
	for i := range v.Members {
		m := &v.Members[i]
		at := strings.TrimPrefix(place+"."+printable(m.Key), ".")
		switch {
		case slices.Contains(oci, m.Key):
		case !slices.Contains(docker, m.Key):
			j.add("json-key", at, "unknown key %q", m.Key)
			continue
		default:
			j.report.Form = "docker"
			if kind == "" || kind == "syscalls" {
				j.dockerKey(m.Key, at)
			}
		}
		j.keys(&m.Value, m.Key, at)
	}
}

// dockerKey tells of a key of docker's form once, wherever else it stands.
func (j *judge) dockerKey(key, at string) {
	message := fmt.Sprintf("%q is a key of docker's form", key)
	for _, f := range j.report.Findings {
		if f.Rule == "docker-form" && f.Message == message {
			return
		}
	}
	j.add("docker-form", at, "%s", message)
}

// printable is a key as part of a place.
func printable(key string) string {
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Sprintf("%+q", key)
	}
	return key
}

// resolve takes of docker's form what holds for a container without capabilities on this
// architecture and on any kernel that brainbox runs on.
func (j *judge) resolve(t *text) {
	p := &document{spec: &t.LinuxSeccomp, listed: len(t.Architectures)}
	for _, a := range t.ArchMap {
		if a.Architecture == native(j.Arch) {
			p.spec.Architectures = append(p.spec.Architectures, a.Architecture)
			p.spec.Architectures = append(p.spec.Architectures, a.SubArchitectures...)
		}
	}
	for i, s := range t.Syscalls {
		if !j.applies(s.Includes, s.Excludes) {
			continue
		}
		key := "names"
		if s.Name != "" && len(s.Names) == 0 {
			s.Names, key = []string{s.Name}, "name"
		}
		p.spec.Syscalls = append(p.spec.Syscalls, s.LinuxSyscall)
		p.source = append(p.source, fmt.Sprintf("syscalls[%d]", i))
		p.nameKey = append(p.nameKey, key)
	}
	j.document = p
}

func (j *judge) applies(includes, excludes *condition) bool {
	if e := excludes; e != nil && (slices.Contains(e.Arches, j.Arch) || e.MinKernel != "") {
		return false
	}
	i := includes
	return i == nil || len(i.Caps) == 0 && (len(i.Arches) == 0 || slices.Contains(i.Arches, j.Arch))
}

func native(goarch string) specs.Arch {
	if goarch == "arm64" {
		return specs.ArchAARCH64
	}
	return specs.ArchX86_64
}

// namePlace is where the name n of rule i stands.
func (p *document) namePlace(i, n int) string {
	if p.nameKey[i] == "name" {
		return p.source[i] + ".name"
	}
	return fmt.Sprintf("%s.names[%d]", p.source[i], n)
}
