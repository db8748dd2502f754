package mask

import (
	"errors"
	"os"
	"strings"
	"testing"

	"brainbox/dirchain"
)

// moments are those at which a test interferes with a write whose mask is already
// complete beside its place: while the host is asked for the last time, after the
// last look, and when the kernel is called.
func moments() map[string]func(h *host, do func()) {
	on := func(call string) func(h *host, do func()) {
		return func(h *host, do func()) {
			h.trace = func(c string) error {
				if c == call && do != nil {
					now := do
					do = nil
					now()
				}
				return nil
			}
		}
	}
	return map[string]func(h *host, do func()){
		"asked":   func(h *host, do func()) { h.at[3] = do },
		"publish": on("publish"),
		"rename":  on("renameat2"),
	}
}

// late is what happens to a repository whose mask is about to be published.
type late struct {
	name  string
	old   bool // there is a mask
	asked bool // only while the host is asked: nothing of the image is looked at later
	do    func(dir string) error
	want  Code
	// afterwards
	root    string // what the root's name has at its end
	dir     string // where the directory of the image is
	entries string
	mask    string // the bytes of the mask there; "" when there is none
}

func lates() []late {
	const policy = "../context/policies/crew.md"
	old := string(picture("old"))
	link := func(dir string) error {
		return errors.Join(os.Rename(dir+"/assets", dir+"/moved"), os.Symlink("context/policies", dir+"/assets"))
	}
	// gone and then exchanged
	without := func(name string, do func(dir string) error) func(dir string) error {
		return func(dir string) error { return errors.Join(os.Remove(dir+"/"+name), do(dir)) }
	}
	put := func(name, text string) func(dir string) error {
		return func(dir string) error { return os.WriteFile(dir+"/"+name, []byte(text), 0o600) }
	}
	image := string(picture("image"))
	return []late{
		{name: "bk/HM12 the directory is exchanged for a link to the policy", do: link, want: TopologyChanged, dir: "moved", entries: "raft.png"},
		{
			name: "bk/HM12 the same with a mask", old: true, do: link, want: TopologyChanged,
			dir: "moved", entries: "raft-mask.png raft.png", mask: old,
		},
		{name: "bk/HM12 the directory is exchanged for another", do: func(dir string) error {
			return errors.Join(os.Rename(dir+"/assets", dir+"/moved"), os.Mkdir(dir+"/assets", 0o755), put(raft, image)(dir))
		}, want: TopologyChanged, dir: "moved", entries: "raft.png"},
		{name: "the directory is moved away", do: func(dir string) error {
			return os.Rename(dir+"/assets", dir+"/moved")
		}, want: TopologyChanged, dir: "moved", entries: "raft.png"},
		{name: "the root is moved away", do: func(dir string) error {
			return errors.Join(os.Rename(dir, dir+"2"), os.Mkdir(dir, 0o755))
		}, want: TopologyChanged, root: "2", dir: "assets", entries: "raft.png"},
		{name: "bk/HM9 the image is written to", asked: true, do: put(raft, "other"), want: StaleBase, dir: "assets", entries: "raft.png"},
		{name: "bk/HM9 the image is exchanged for one like it", asked: true, do: func(dir string) error {
			return errors.Join(os.Rename(dir+"/"+raft, dir+"/old"), put(raft, image)(dir))
		}, want: StaleBase, dir: "assets", entries: "raft.png"},
		{name: "bk/HM9 the image is gone", asked: true, do: func(dir string) error {
			return os.Remove(dir + "/" + raft)
		}, want: StaleBase, dir: "assets"},
		{name: "bk/HM9 the image gets another name", asked: true, do: func(dir string) error {
			return os.Link(dir+"/"+raft, dir+"/other.png")
		}, want: AliasDenied, dir: "assets", entries: "raft.png"},
		{name: "bk/HM10 a mask appears", do: put(raftClaude, "theirs"), want: StaleBase, dir: "assets", entries: "raft-mask.png raft.png", mask: "theirs"},
		{
			name: "bk/HM10 the mask is written to", old: true, do: put(raftClaude, "theirs"), want: StaleBase,
			dir: "assets", entries: "raft-mask.png raft.png", mask: "theirs",
		},
		{name: "bk/HM10 the mask is gone", old: true, do: func(dir string) error {
			return os.Remove(dir + "/" + raftClaude)
		}, want: StaleBase, dir: "assets", entries: "raft.png"},
		{name: "bk/HM11 the mask becomes a link to the policy", old: true, do: without(raftClaude, func(dir string) error {
			return os.Symlink(policy, dir+"/"+raftClaude)
		}), want: StaleBase, dir: "assets", entries: "raft-mask.png raft.png", mask: string(picture("policy"))},
		{name: "bk/HM11 the mask becomes a name of the policy", old: true, do: without(raftClaude, func(dir string) error {
			return os.Link(dir+"/context/policies/crew.md", dir+"/"+raftClaude)
		}), want: StaleBase, dir: "assets", entries: "raft-mask.png raft.png", mask: string(picture("policy"))},
	}
}

// TestApplyAtTheLastMoment: what is exchanged under the operation's hands is seen.
func TestApplyAtTheLastMoment(t *testing.T) {
	for _, tt := range lates() {
		for moment, interfere := range moments() {
			if tt.asked && moment != "asked" {
				continue
			}
			t.Run(tt.name+", "+moment, func(t *testing.T) {
				each(t, func(t *testing.T, opts dirchain.Options) { tt.run(t, interfere, opts) })
			})
		}
	}
}

func (tt late) run(t *testing.T, interfere func(h *host, do func()), opts dirchain.Options) {
	t.Helper()
	h := newHost(t, opts)
	if tt.old {
		withMask(t, h)
	}
	base, policies, done := h.base(t, raft), tree(t, h.dir+"/context"), false
	interfere(h, func() { done = true; try(t, tt.do(h.dir)) })
	res := h.Apply(t.Context(), caller(), base, Request{raft, raftClaude, picture("mask")})
	if !done || res.OK || res.Code != tt.want || len(res.Changes) != 0 || len(h.results) != 1 {
		t.Errorf("result: %+v, want %s; interfered: %v", res, tt.want, done)
	}
	root := h.dir + tt.root
	if got := entries(t, root+"/"+tt.dir); got != tt.entries {
		t.Errorf("entries: %s, want %s", got, tt.entries)
	}
	if tt.mask != "" && read(t, root+"/"+tt.dir+"/raft-mask.png") != tt.mask {
		t.Error("the mask has other bytes")
	}
	if got := tree(t, root+"/context"); got != policies {
		t.Errorf("policies:\n%swant:\n%s", got, policies)
	}
	applied(t, newHost(t, opts))
}

func entries(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range list {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}
