package launcher

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brainbox/internal/needs"
)

func TestGitVarsKeepSubsections(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []gitVar
		bad  bool
	}{
		"a section":                        {"[Core]\n\tFsMonitor = x\n", []gitVar{{Key: "core.fsmonitor", Value: "x"}}, false},
		"a subsection keeps its case":      {"[remote \"A.b\"]\nuploadPack=y\n", []gitVar{{Key: "remote.A.b.uploadpack", Value: "y"}}, false},
		"the old spelling does not":        {"[filter.LFS]\nclean=y\n", []gitVar{{Key: "filter.lfs.clean", Value: "y"}}, false},
		"escapes in a subsection":          {`[a "x\"y\\z\w"]` + "\nb=1\n", []gitVar{{Key: `a.x"y\zw.b`, Value: "1"}}, false},
		"an empty subsection":              {"[a \"\"]\nb=1\n", []gitVar{{Key: "a..b", Value: "1"}}, false},
		"a variable without a value":       {"[core]\nfsmonitor\n", []gitVar{{Key: "core.fsmonitor", Bare: true}}, false},
		"an error ends it":                 {"[a]\nb=1\n[broken\nc=2\n", []gitVar{{Key: "a.b", Value: "1"}}, true},
		"so does an open quote":            {"[a]\nb=\"1\n", nil, true},
		"and a subsection without end":     {"[a \"b\n", nil, true},
		"and one that ends in an escape":   {"[a \"b\\", nil, true},
		"and a name that is none":          {"[a]\n1b=2\n", nil, true},
		"nothing is no error":              {"", nil, false},
		"a comment is no error":            {"# x", nil, false},
		"section and name on one line":     {"[a \"b\"] c = d", []gitVar{{Key: "a.b.c", Value: "d"}}, false},
		"a byte order mark and \\r before": {"\ufeff[a]\r\nb = c\r\n", []gitVar{{Key: "a.b", Value: "c"}}, false},
	} {
		got, ok := gitVars(c.text)
		if diff := cmp.Diff(c.want, got); diff != "" || ok == c.bad {
			t.Errorf("%s: ok %v (-want +got):\n%s", name, ok, diff)
		}
	}
}

// What git-config(1), git 2.39 to 2.52, and git-lfs run or load: esc/TH-03, esc/TH-04.
func TestExecutableGitKeys(t *testing.T) {
	for _, text := range []string{
		"core.fsmonitor=x", "core.fsmonitor", "core.hooksPath=.h", "core.sshCommand=x", "core.pager=x", "core.editor=x", "core.askPass=x",
		"core.gitProxy=x", "core.alternateRefsCommand=x", "core.worktree=..", "core.attributesFile=x", "sequence.editor=x",
		"alias.x=!sh", "alias.x= !sh", "credential.helper=x", "credential.https://x.helper=x", "diff.external=x", "diff.d.command=x",
		"diff.d.textconv=x", "diff.tool=../x", "difftool.t.cmd=x", "difftool.t.path=x", "merge.d.driver=x", "merge.tool=x",
		"mergetool.t.cmd=x", "mergetool.t.path=x", "filter.f.clean=x", "filter.f.smudge=x", "filter.f.process=x", "gpg.program=x",
		"gpg.ssh.program=x", "gpg.ssh.defaultKeyCommand=x", "include.path=x", "includeIf.gitdir:x.path=x", "url.x.insteadOf=y",
		"url.x.pushInsteadOf=y", "remote.o.uploadpack=x", "remote.o.receivepack=x", "remote.o.vcs=x", "remote.o.proxy=x",
		"remote.o.url=ext::sh -c x", "remote.o.pushurl=fd::17", "remote.o.url=-x", "remote.o.url=ssh://-oProxyCommand=x/y",
		"branch.b.remote=ext::x", "submodule.s.update=!x", "submodule.s.url=ext::x", "pager.log=x", "interactive.diffFilter=x",
		"man.viewer=x", "man.x.cmd=x", "browser.x.path=x", "web.browser=x", "help.browser=x", "instaweb.httpd=x", "init.templateDir=x",
		"uploadpack.packObjectsHook=x", "imap.tunnel=x", "sendemail.smtpServer=/x", "sendemail.i.toCmd=x", "trailer.t.command=x",
		"trailer.t.cmd=x", "guitool.g.cmd=x", "protocol.ext.allow=always", "protocol.allow=always", "extensions.worktreeConfig=true",
		"hook.h.command=x", "lfs.customtransfer.t.path=x", "lfs.extension.e.clean=x", "lfs.standalonetransferagent=x",
		"new.thing.runCommand=x",
	} {
		v := parseKey(text)
		if !v.executable() {
			t.Errorf("%q runs, and is not reported", text)
		}
	}
	for _, text := range []string{ // positive control: what a program may well set
		"core.autocrlf=input", "core.bare=false", "user.name=x", "alias.st=status", "remote.o.url=https://x/y", "remote.o.fetch=+refs/*",
		"branch.b.remote=origin", "branch.b.merge=refs/heads/b", "submodule.s.url=../s", "submodule.s.update=rebase", "diff.algorithm=x",
		"merge.conflictStyle=diff3", "filter.f.required=true", "extensions.objectFormat=sha256", "gc.auto=0", "init.defaultBranch=x",
		"push.default=simple", "remote.o.url=git@x:y",
	} {
		v := parseKey(text)
		if v.executable() {
			t.Errorf("%q is reported", text)
		}
	}
}

// parseKey is what git makes of -c KEY=VALUE.
func parseKey(text string) gitVar {
	key, value, has := strings.Cut(text, "=")
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	return gitVar{Key: strings.ToLower(key[:first]) + key[first:last] + strings.ToLower(key[last:]), Value: value, Bare: !has}
}

func TestChangedKeys(t *testing.T) {
	before := "[core]\n\thooksPath = a\n\tpager = p\n[remote \"o\"]\n\turl = u\n[alias]\n\tx = !a\n[include]\n\tpath = 1\n\tpath = 2\n"
	for name, c := range map[string]struct {
		after string
		want  []string
	}{
		"nothing changed":               {before, nil},
		"nothing that runs":             {before + "[remote \"o\"]\n\turl = v\n[user]\n\tname = x\n", nil},
		"added":                         {before + "[core]\n\tfsmonitor = x\n", []string{"core.fsmonitor"}},
		"another value":                 {strings.Replace(before, "= a\n", "= b\n", 1), []string{"core.hookspath"}},
		"a second value":                {before + "[core]\n\thooksPath = b\n", []string{"core.hookspath"}},
		"removed":                       {strings.Replace(before, "\tpager = p\n", "", 1), []string{"core.pager"}},
		"a command that is none now":    {strings.Replace(before, "!a", "a", 1), []string{"alias.x"}},
		"the order of includes counts":  {strings.Replace(before, "path = 1\n\tpath = 2", "path = 2\n\tpath = 1", 1), []string{"include.path"}},
		"all of it":                     {"", []string{"alias.x", "core.hookspath", "core.pager", "include.path"}},
		"a value is not the lack of it": {before + "[core]\n\teditor\n", []string{"core.editor"}},
	} {
		was, _ := gitVars(before)
		is, _ := gitVars(c.after)
		if diff := cmp.Diff(c.want, changedKeys(was, is)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzGitVars asks git what a text means. Where git reads it, the same variables come out;
// where git refuses it, this reader does as well, or only says more.
func FuzzGitVars(f *testing.F) {
	git := needs.Tool(f, "git")
	for _, seed := range []string{
		"[a]\nb=c\n", "[a \"B\"]\nc\n", "[a.B]\nc=d # e\n", "[a \"x\\\"y\"]\nb = \"c;d\" ; e\n", "[a]\nb=1\n[", "[a]\nb = c\\\n d\n",
		"[include]\npath=x\n", "[a]b=c", "[alias]\nx = \"!f() { :; }; f\"\n", "\ufeff[a]\r\nb\r\n", "[a \"\"]\nb=1\n", "[-.x]\ny=z\n",
	} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.ContainsRune(string(text), 0) || strings.Contains(strings.ToLower(string(text)), "include") || len(text) > 4096 {
			return // git follows an include; the test's separators are NUL and new line
		}
		want, readable := gitList(t, git, dir, text)
		list, ok := gitVars(string(text))
		var got []string
		for _, v := range list {
			if v.Bare {
				got = append(got, v.Key)
			} else {
				got = append(got, v.Key+"\n"+v.Value)
			}
		}
		if !readable {
			return // and whoever compares two of them sees the error, or the new variables
		}
		blank := strings.NewReplacer("\t", " ", "\r", " ") // git before 2.45
		for _, list := range [][]string{got, want} {
			for i := range list {
				list[i] = blank.Replace(list[i])
			}
		}
		if !ok || !slices.Equal(got, want) {
			t.Errorf("%q: ok %v\n%s", text, ok, cmp.Diff(want, got))
		}
	})
}

func TestGitVarsOfARealRepository(t *testing.T) {
	git := needs.Tool(t, "git")
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", dir},
		{"-C", dir, "remote", "add", "origin", "https://example.org/x.git"},
		{"-C", dir, "config", "core.fsmonitor", "./evil \"x\" # no comment"},
	} {
		cmd := exec.Command(git, args...)
		cmd.Env = []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	list, ok := gitVars(readSmall(dir + "/.git/config"))
	if !ok || !slices.Contains(list, gitVar{Key: "core.fsmonitor", Value: `./evil "x" # no comment`}) {
		t.Errorf("ok %v, %v", ok, list)
	}
	if got := changedKeys(nil, list); !slices.Equal(got, []string{"core.fsmonitor"}) {
		t.Errorf("changed %v", got)
	}
}
