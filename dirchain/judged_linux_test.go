package dirchain

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The content that is written has the digest that was approved, or nothing is.
func TestDigest(t *testing.T) {
	t.Run("esc/DC-21", func(t *testing.T) {
		both(t, func(t *testing.T, opts Options) {
			g := newGround(t)
			for _, p := range []op{
				{Path: target, Mode: Replace, Content: "changed", Digest: "approved"},
				{Path: target, Mode: Append, Content: "changed", Digest: "approved"},
				{Path: "g/p/n", Content: "changed", Digest: "approved"},
				{Path: "g/p/x/n", Content: "changed", Digest: "approved", Parents: true},
			} {
				before := listing(t, g.root)
				if got := perform(attack{Root: g.root, Opts: opts, Op: p}); !got.is("ErrStale") || len(got.Leaked) > 0 {
					t.Errorf("%+v", got)
				}
				if after := listing(t, g.root); before != after {
					t.Errorf("%s\nbecame\n%s", before, after)
				}
				p.Content = "approved"
				if got := perform(attack{Root: g.root, Opts: opts, Op: p}); got.Err != "" {
					t.Errorf("control: %+v", got)
				}
			}
		})
	})
}

// The links of /proc lead where no path says.
func TestMagicLinks(t *testing.T) {
	t.Run("esc/DC-08", func(t *testing.T) {
		both(t, func(t *testing.T, opts Options) {
			control := inChild(t, attack{Root: "/proc/self", Opts: opts, Op: op{Kind: "hold", Path: "task"}})
			if control.Err != "" {
				t.Fatalf("control: %+v", control)
			}
			for _, path := range []string{"cwd/vector_linux_test.go", "root/etc/passwd", "fd/0", "exe", "task/self", "fd/3/x"} {
				got := inChild(t, attack{Root: "/proc/self", Opts: opts, Op: op{Kind: "read", Path: path}})
				if path == "task/self" && got.is("ErrNotExist") {
					continue
				}
				if !got.is("ErrLink") && !got.is("ErrNotDirectory") || got.Data != nil {
					t.Errorf("%q: %+v", path, got)
				}
				p := op{Path: path, Mode: CreateOrReplace, Content: "x"}
				if got = inChild(t, attack{Root: "/proc/self", Opts: opts, Op: p}); !got.is("ErrFilesystem") {
					t.Errorf("write %q: %+v", path, got)
				}
			}
		})
	})
}

// A root is remembered: what takes its place is not written to.
func TestRootIsReplaced(t *testing.T) {
	t.Run("esc/DC-19", func(t *testing.T) {
		both(t, func(t *testing.T, opts Options) {
			g := newGround(t)
			o := watch(t, g.out)
			r := open(t, g.root, opts)
			req := func() WriteRequest { return WriteRequest{Mode: CreateOrReplace, Content: text("new"), Parents: true} }
			if _, err := r.Write(t.Context(), "g/p/one", req()); err != nil {
				t.Fatalf("control: %v", err)
			}
			if err := errors.Join(os.Rename(g.root, g.root+awaySuffix), os.Symlink(g.out, g.root)); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{target, "g/p/two", "two", "new/two"} {
				if _, err := r.Write(t.Context(), path, req()); !errors.Is(err, ErrChanged) {
					t.Errorf("%s: %v, want %v", path, err, ErrChanged)
				}
			}
			o.untouched(t)
			if got := listing(t, g.root+awaySuffix); !strings.Contains(got, target+"=old") || strings.Contains(got, "two") {
				t.Errorf("in the old root:\n%s", got)
			}
		})
	})
}

// What is protected is so under every name.
func TestProtectedAliases(t *testing.T) {
	t.Run("esc/DC-17", func(t *testing.T) {
		both(t, func(t *testing.T, opts Options) {
			opts.Protect = []string{".git/hooks", "policy"}
			for path, prepare := range map[string]func(g ground) error{
				".GIT/hooks/x": func(g ground) error { return os.Rename(g.in(".git"), g.in(".GIT")) },
				"h/x":          func(g ground) error { return os.Rename(g.in(".git/hooks"), g.in("h")) },
				"POLICY":       func(g ground) error { return os.Rename(g.in("policy"), g.in("POLICY")) },
				"p2":           func(g ground) error { return errors.Join(os.Link(g.in("policy"), g.in("p2"))) },
				".git/hooks/x": func(ground) error { return nil },
			} {
				g := newGround(t)
				mkdir(t, g.in(".git/hooks"))
				putText(t, g.in("policy"), "strict")
				r := open(t, g.root, opts)
				if err := prepare(g); err != nil {
					t.Fatal(err)
				}
				before := listing(t, g.root)
				req := WriteRequest{Mode: CreateOrReplace, Content: text("x"), ReplaceLinked: true, Parents: true}
				_, err := r.Write(t.Context(), path, req)
				if !errors.Is(err, ErrProtected) {
					t.Errorf("%s: %v, want %v", path, err, ErrProtected)
				}
				if after := listing(t, g.root); before != after {
					t.Errorf("%s\nbecame\n%s", before, after)
				}
				if _, err = r.Write(t.Context(), target, WriteRequest{Mode: Replace, Content: text("x")}); err != nil {
					t.Errorf("control: %v", err)
				}
			}
		})
	})
}

// Set-id and sticky bits are neither set nor taken over.
func TestSpecialBits(t *testing.T) {
	t.Run("esc/DC-13", func(t *testing.T) {
		both(t, func(t *testing.T, opts Options) {
			g := newGround(t)
			for _, perm := range []uint32{0o4777, 0o2755, 0o1777, 0o4000, 1 << 16} {
				p := op{Path: "g/n", Content: "x", Perm: perm}
				if got := perform(attack{Root: g.root, Opts: opts, Op: p}); !got.is("ErrMode") {
					t.Errorf("%#o: %+v", perm, got)
				}
			}
			for _, bits := range []uint32{0o4755, 0o2755, 0o1644} {
				if err := unix.Chmod(g.in(target), bits); err != nil {
					t.Fatal(err)
				}
				for _, mode := range []Mode{Replace, Append, CreateOrReplace} {
					got := perform(attack{Root: g.root, Opts: opts, Op: op{Path: target, Mode: mode, Content: "x"}})
					if !got.is("ErrMode") || slices.Contains(got.Calls, "fill") {
						t.Errorf("%#o: %+v", bits, got)
					}
				}
			}
			if got := names(t, g.in("g")) + read(t, g.in(target)); got != "e pold" {
				t.Errorf("left: %q", got)
			}
			got := perform(attack{Root: g.root, Opts: opts, Op: op{Path: "g/n", Content: "x", Perm: 0o777}})
			if st, err := os.Lstat(g.in("g/n")); got.Err != "" || err != nil || st.Mode()&^0o755 != 0 {
				t.Errorf("control: %+v, %v", got, st)
			}
		})
	})
}
