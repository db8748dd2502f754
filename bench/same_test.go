package main

import (
	"strings"
	"testing"

	"brainbox/launcher"
)

// Every step that brainbox takes, bwrap takes too, or makes it itself.
func TestBwrapTakesTheSameSteps(t *testing.T) {
	p := &place{root: t.TempDir()}
	for _, c := range []struct {
		mount launcher.Mount
		want  string
	}{
		{launcher.Mount{Kind: launcher.MountBind, Path: "/a", Source: "/b"}, "--ro-bind /b /a"},
		{launcher.Mount{Kind: launcher.MountBind, Path: "/a", Source: "/b", Writable: true}, "--bind /b /a"},
		{launcher.Mount{Kind: launcher.MountBind, Path: "/r/home", Source: "/r/home", Writable: true, Held: launcher.Held{In: launcher.HeldHome}}, "--bind ROOT/standin/private/home /r/home"},
		{launcher.Mount{Kind: launcher.MountSelf, Path: "/a"}, "--ro-bind /a /a"},
		{launcher.Mount{Kind: launcher.MountDir, Path: "/a"}, "--dir /a"},
		{launcher.Mount{Kind: launcher.MountLink, Path: "/bin", Source: "usr/bin"}, "--symlink usr/bin /bin"},
		{launcher.Mount{Kind: launcher.MountFile, Path: "/etc/group", Data: []byte("x")}, "--ro-bind ROOT/standin/group /etc/group"},
		{launcher.Mount{Kind: launcher.MountFS, Path: "/proc", FSType: "proc"}, "--proc /proc"},
		{launcher.Mount{Kind: launcher.MountFS, Path: "/tmp", FSType: "tmpfs"}, "--tmpfs /tmp"},
		{launcher.Mount{Kind: launcher.MountFS, Path: "/dev/shm", FSType: "tmpfs"}, "--tmpfs /dev/shm"},
		{launcher.Mount{Kind: launcher.MountMask, Path: "/proc/keys"}, "--ro-bind /dev/null /proc/keys"},
		// --dev, the place of a bind, and what bwrap has nothing like.
		{launcher.Mount{Kind: launcher.MountBind, Path: "/dev/null"}, ""},
		{launcher.Mount{Kind: launcher.MountFile, Path: "/etc/hosts"}, ""},
		{launcher.Mount{Kind: launcher.MountGrant, Path: "/"}, ""},
	} {
		words, err := p.bwrapWords(&c.mount)
		if got := strings.ReplaceAll(strings.Join(words, " "), p.root, "ROOT"); got != c.want || err != nil {
			t.Errorf("%s %s: %q, %v, want %q", c.mount.Kind, c.mount.Path, got, err, c.want)
		}
	}
	if words, err := p.bwrapWords(&launcher.Mount{Kind: 99}); err == nil {
		t.Errorf("an unknown kind: %q", words)
	}
}
