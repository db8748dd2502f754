package learn

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"brainbox/policy"
)

var update = flag.Bool("update", false, "write the golden drafts again")

// TestDraftGolden compares whole drafts. Each file has what was used in "uses", and the draft
// in "policy.toml".
func TestDraftGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no drafts: %v, %v", files, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			in := input(t, used(t, string(ar.Files[0].Data))...)
			if strings.Contains(name, "failed") {
				in.Status = 2
			}
			text := New(in).TOML()
			parsed(t, text)
			if *update {
				ar.Files = []txtar.File{ar.Files[0], {Name: "policy.toml", Data: text}}
				if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(ar.Files[1].Data), string(text)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// want lists the entries that a draft has beside its base, as "right path".
func entries(d *Draft) []string {
	var list []string
	for _, l := range d.Lines {
		text, _ := spell(&d.in.Place, l.Path)
		list = append(list, l.Right.String()+" "+text)
	}
	return list
}

func TestLines(t *testing.T) {
	const eight = "read /srv/d/a1\nread /srv/d/a2\nread /srv/d/a3\nread /srv/d/a4\nread /srv/d/a5\nread /srv/d/a6\nread /srv/d/a7\n"
	for name, c := range map[string]struct {
		uses string
		base string // "" = minimal
		want []string
	}{
		"nothing":                       {"", "", []string{"read ."}},
		"what the base has":             {"exec /usr/bin/cc\nread /etc/ld.so.cache\nread /proc/self/maps", "", []string{"read ."}},
		"what every run has":            {"create /tmp/brainbox-1000/r1/home/x", "", []string{"read ."}},
		"one file":                      {"read /srv/d/a", "", []string{"read .", "read /srv/d/a"}},
		"seven files are seven":         {strings.Join(strings.SplitAfter(eight, "\n")[:2], ""), "", []string{"read .", "read /srv/d/a1", "read /srv/d/a2"}},
		"eight files are a folder":      {eight + "read /srv/d/a8", "", []string{"read .", "read /srv/d"}},
		"never a folder of the root":    {strings.ReplaceAll(eight, "/srv/d", "/srv") + "read /srv/a8", "", []string{"read .", "read /srv/a1", "read /srv/a2", "read /srv/a3", "read /srv/a4", "read /srv/a5", "read /srv/a6", "read /srv/a7", "read /srv/a8"}},
		"never a folder of secrets":     {strings.ReplaceAll(eight, "/srv/d", "/home/u/.config") + "read /home/u/.config/a8", "", []string{"read .", "read ~/.config/a1", "read ~/.config/a2", "read ~/.config/a3", "read ~/.config/a4", "read ~/.config/a5", "read ~/.config/a6", "read ~/.config/a7", "read ~/.config/a8"}},
		"a version":                     {"read /opt2/x/tool-1.2.3/lib/x.py", "", []string{"read .", "read /opt2/x/tool-1.2.3"}},
		"a version with a v":            {"exec /home/u/tools/node/v20.1.0/bin/node", "", []string{"read .", "exec ~/tools/node/v20.1.0"}},
		"a folder that is no version":   {"read /srv/x/python3/a", "", []string{"read .", "read /srv/x/python3/a"}},
		"a cache":                       {"read /home/u/.cache/pip/http/1/2/3", "", []string{"read .", "read ~/.cache/pip"}},
		"not the folder of caches":      {"read /home/u/.cache/x", "", []string{"read .", "read ~/.cache/x"}},
		"a temporary name":              {"write /srv/d/foo.tmp.1234", "", []string{"read .", "write /srv/d"}},
		"a swap file":                   {"read /srv/d/.foo.swp", "", []string{"read .", "read /srv/d"}},
		"a random name":                 {"write /srv/d/x.aB3dE9", "", []string{"read .", "write /srv/d"}},
		"a lock file is a name":         {"read /srv/d/Cargo.lock", "", []string{"read .", "read /srv/d/Cargo.lock"}},
		"a file that exists":            {"write /srv/d/log", "", []string{"read .", "write /srv/d/log"}},
		"a new file needs the folder":   {"create /srv/d/new\nwrite /srv/d/new", "", []string{"read .", "write /srv/d"}},
		"removing":                      {"remove /srv/d/x", "", []string{"read .", "write /srv/d"}},
		"a rename within":               {"rename /srv/d/a /srv/d/b", "", []string{"read .", "write /srv/d"}},
		"a rename across":               {"rename /srv/d/a/x /srv/d/b/x", "", []string{"read .", "write /srv/d"}},
		"a rename too far across":       {"rename /srv/a/x /opt2/b/x", "", []string{"read .", "write_exec /opt2/b", "write_exec /srv/a"}},
		"a rename out of HOME":          {"rename /tmp/brainbox-1000/r1/home/x /srv/d/x", "", []string{"read .", "write_exec /srv/d"}},
		"made and executed":             {"create /srv/d/tool\nexec /srv/d/tool", "", []string{"read .", "write_exec /srv/d"}},
		"executing beside writing":      {"write /srv/d/log\nexec /srv/d/tool", "", []string{"read .", "exec /srv/d/tool", "write /srv/d/log"}},
		"executing in a written folder": {"create /srv/d/build/x\nexec /srv/d/build/sub/tool", "", []string{"read .", "write_exec /srv/d/build"}},
		"made below and executed":       {"mkdir ./build/d\ncreate ./build/d/x\nexec ./build/d/x", "", []string{"read .", "write_exec ./build"}},
		"PATH":                          {"exec /home/u/bin/tool", "", []string{"read .", "exec ~/bin"}},
		"a library":                     {"read /srv/d/lib.so.6.1", "", []string{"read .", "exec /srv/d/lib.so.6.1"}},
		"in the checkout":               {"read ./README\nexec ./configure\ncreate ./build/x.o", "", []string{"read .", "exec ./configure", "write ./build"}},
		"a file of the checkout's top":  {"create ./out", "default", nil},
		"below .git":                    {"create ./.git/index.lock\nrename ./.git/index.lock ./.git/index", "default", nil},
		"a toolchain":                   {"exec /home/u/.pyenv/versions/3.11.1/bin/python3", "default", nil},
		"another folder with default":   {"create ./out\nread /srv/d/a", "default", []string{"read /srv/d/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			uses := used(t, strings.ReplaceAll(c.uses, "./", "/home/u/src/app/"))
			d := New(input(t, uses...))
			if c.base == "" {
				c.base = "minimal"
			}
			if d.Base != c.base {
				t.Errorf("base %s (%s), want %s", d.Base, d.Reason, c.base)
			}
			if diff := cmp.Diff(c.want, entries(d)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			text := d.TOML()
			model(t, parsed(t, text), text)
			if again := New(input(t, uses...)).TOML(); !bytes.Equal(text, again) {
				t.Errorf("the same uses gave another draft:\n%s\n%s", text, again)
			}
		})
	}
}

// Places of secrets, the home and the root are in no active line, whatever was used there,
// and what was refused there says what it is.
func TestSecretsStayOut(t *testing.T) {
	uses := "list /\nlist /home/u\nlist /home\nlist /etc\ncreate /home/u/x\n"
	for _, s := range secretList() {
		path := strings.ReplaceAll(s.Path, "*", "x")
		uses += "read " + path + "\nread " + path + "/deep/key\n!read " + path + "/id_rsa by cat\nread " + path + "/tool-1.2/x\n"
	}
	uses += "read /srv/d/a\n" // positive control
	d := New(input(t, used(t, uses)...))
	text := d.TOML()
	can := model(t, parsed(t, text), text)
	if can("/srv/d/a") == 0 {
		t.Errorf("the draft lacks what is no secret:\n%s", text)
	}
	for _, s := range secretList() {
		if got := can(strings.ReplaceAll(s.Path, "*", "x")); got != 0 && !strings.HasPrefix(s.Path, "/usr") {
			t.Errorf("the draft opens %s", s.Path)
		}
	}
	for _, path := range []string{"/", "/home", "/home/u", "/etc", "/home/u/.config"} {
		if can(path) != 0 {
			t.Errorf("the draft opens %s", path)
		}
	}
	for _, want := range []string{`# "~/.ssh/id_rsa",  # WARNING: keys of SSH; read 1 file, first by cat`, heading} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Every line of what was refused is good: with the # away it parses, and what was refused is
// granted.
func TestRefusedLinesAreGood(t *testing.T) {
	uses := used(t, strings.ReplaceAll(`
read /srv/d/a
exec ./configure
!read /home/u/.ssh/id_rsa
!write /srv/d/b
!create /srv/e/b
!exec /home/u/.local/share/x/tool
!create ./out/x
!unix /run/app.sock
!connect 443
!bind 8080`, "./", "/home/u/src/app/"))
	d := New(input(t, uses...))
	text := string(d.TOML())
	before := model(t, parsed(t, []byte(text)), []byte(text))
	found := 0
	for _, l := range d.Refused {
		element := strings.TrimSuffix((&writer{d: d}).path(&l), ",")
		if strings.Count(text, "  # "+element+",") != 1 {
			t.Fatalf("no line of %s in\n%s", element, text)
		}
		opened := strings.Replace(text, "  # "+element+",", "  "+element+",", 1)
		can := model(t, parsed(t, []byte(opened)), []byte(opened))
		if need := bitsOf(l.Right); before(l.Path)&need == need || can(l.Path)&need != need {
			t.Errorf("%v: %v before, %v then", l.Path, before(l.Path), can(l.Path))
		}
		found++
	}
	if found != 5 {
		t.Errorf("%d lines for 5 refusals in\n%s", found, text)
	}
	network := text
	for _, line := range []string{`# mode = "ports"`, "# connect_tcp = [443]", "# bind_tcp = [8080]", `# "/run/app.sock",`} {
		if !strings.Contains(network, line) {
			t.Fatalf("no %s in\n%s", line, text)
		}
		network = strings.Replace(network, line, strings.TrimPrefix(line, "# "), 1)
	}
	p := parsed(t, []byte(network))
	if p.Network.Mode.V != policy.NetPorts || p.Network.ConnectTCP[0].V != 443 || p.Network.BindTCP[0].V != 8080 || p.Network.Unix[0].Abs != "/run/app.sock" {
		t.Errorf("%+v", p.Network)
	}
}
