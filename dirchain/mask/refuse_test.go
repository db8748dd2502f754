package mask

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"brainbox/dirchain"
)

// apply is one application in the making: what a case of a table may bend.
type apply struct {
	caller Caller
	base   Base
	req    Request
	ctx    context.Context
	cancel context.CancelFunc
}

// refusal cases: before is done after the base was captured, and what it leaves is
// what must be there afterwards.
type refused struct {
	name   string
	setup  func(t *testing.T, h *host) // before the base is captured
	before func(t *testing.T, h *host, a *apply)
	want   Code
}

func bend(f func(a *apply)) func(*testing.T, *host, *apply) {
	return func(_ *testing.T, _ *host, a *apply) { f(a) }
}

func hosted(f func(h *host)) func(*testing.T, *host, *apply) {
	return func(_ *testing.T, h *host, _ *apply) { f(h) }
}

// withMask puts a mask there before the base is captured.
func withMask(t *testing.T, h *host) {
	t.Helper()
	write(t, h.dir+"/"+raftClaude, string(picture("old")))
}

func refusals() []refused {
	gone := errors.New("not any more")
	return []refused{
		{name: "bk/HM2 no PNG", before: bend(func(a *apply) { a.req.PNG = []byte("not PNG") }), want: InvalidPNG},
		{name: "bk/HM2 seven bytes", before: bend(func(a *apply) { a.req.PNG = picture("")[:7] }), want: InvalidPNG},
		{name: "bk/HM2 no byte", before: bend(func(a *apply) { a.req.PNG = nil }), want: InvalidPNG},
		{name: "bk/HM3 one byte too many", want: PayloadTooLarge, before: bend(func(a *apply) {
			a.req.PNG = append(picture(""), make([]byte, MaxBytes+1-len(signature))...)
		})},
		{name: "bk/HM4 another name", before: bend(func(a *apply) { a.req.MaskPath = "assets/other.png" }), want: InvalidTarget},
		{name: "bk/HM4 in another directory", before: bend(func(a *apply) { a.req.MaskPath = "raft-mask.png" }), want: InvalidTarget},
		{name: "bk/HM5 the name of the other backend", before: bend(func(a *apply) { a.req.MaskPath = raftPi }), want: InvalidTarget},
		{name: "bk/HM6 another principal", before: bend(func(a *apply) { a.caller.Principal = "q" }), want: AuthorityRevoked},
		{name: "bk/HM6 an old turn", before: bend(func(a *apply) { a.caller.Turn = "t0" }), want: AuthorityRevoked},
		{name: "bk/HM6 revoked", before: hosted(func(h *host) { h.revoked = gone }), want: AuthorityRevoked},
		{name: "bk/HM6 revoked while the lock was awaited", want: AuthorityRevoked, before: hosted(func(h *host) {
			h.locked = func(context.Context) error { h.revoked = gone; return nil }
		})},
		{name: "bk/HM6 revoked right before publication", want: AuthorityRevoked, before: hosted(func(h *host) {
			h.at[3] = func() { h.revoked = gone }
		})},
		{name: "bk/HM7 without masks", before: hosted(func(h *host) { h.no = true }), want: MembershipDenied},
		{name: "bk/HM7 switched off right before publication", want: MembershipDenied, before: hosted(func(h *host) {
			h.at[3] = func() { h.no = true }
		})},
		{name: "bk/HM8 given up at the start", before: bend(func(a *apply) { a.cancel() }), want: Cancelled},
		{name: "bk/HM8 given up right before publication", want: Cancelled, before: func(_ *testing.T, h *host, a *apply) {
			h.at[3] = a.cancel
		}},
		{name: "bk/HM8 given up while the lock is awaited", want: Cancelled, before: func(_ *testing.T, h *host, a *apply) {
			h.locked = func(ctx context.Context) error { a.cancel(); <-ctx.Done(); return ctx.Err() }
		}},
		{name: "the lock cannot be had", want: ApplicationFailed, before: hosted(func(h *host) {
			h.locked = func(context.Context) error { return gone }
		})},
		{name: "bk/HM9 the image is written to", want: StaleBase, before: func(t *testing.T, h *host, _ *apply) {
			write(t, h.dir+"/"+raft, "other")
		}},
		{name: "bk/HM9 the image is gone", want: MissingImage, before: func(t *testing.T, h *host, _ *apply) {
			try(t, os.Remove(h.dir+"/"+raft))
		}},
		{name: "bk/HM10 a mask appears", want: StaleBase, before: func(t *testing.T, h *host, _ *apply) {
			write(t, h.dir+"/"+raftClaude, "theirs")
		}},
		{name: "bk/HM10 the mask changes", setup: withMask, want: StaleBase, before: func(t *testing.T, h *host, _ *apply) {
			write(t, h.dir+"/"+raftClaude, "theirs")
		}},
		{name: "bk/HM10 the mask is gone", setup: withMask, want: StaleBase, before: func(t *testing.T, h *host, _ *apply) {
			try(t, os.Remove(h.dir+"/"+raftClaude))
		}},
		{name: "bk/HM11 the mask becomes a link to the policy", want: AliasDenied, before: func(t *testing.T, h *host, _ *apply) {
			try(t, os.Symlink("../context/policies/crew.md", h.dir+"/"+raftClaude))
		}},
		{name: "bk/HM11 the mask becomes a name of the policy", want: AliasDenied, before: func(t *testing.T, h *host, _ *apply) {
			try(t, os.Link(h.dir+"/context/policies/crew.md", h.dir+"/"+raftClaude))
		}},
		{name: "the image becomes a link", want: AliasDenied, before: func(t *testing.T, h *host, _ *apply) {
			try(t, os.Rename(h.dir+"/"+raft, h.dir+"/raft.png"), os.Symlink("../raft.png", h.dir+"/"+raft))
		}},
		{name: "bk/HM13", before: bend(func(a *apply) { a.req.ImagePath = "assets/../assets/raft.png" }), want: InvalidTarget},
		{name: "bk/HM17 no image", before: bend(func(a *apply) { a.req.ImagePath = "assets/raft.txt" }), want: InvalidTarget},
		{name: "bk/HM26 a name for which the mask's is too long", want: InvalidTarget, before: bend(func(a *apply) {
			a.req.ImagePath = strings.Repeat("aaa/", 254) + "aaaa.png"
			a.req.MaskPath = strings.Repeat("aaa/", 254) + "aaaa-mask.png"
		})},
		{name: "bk/HM14", want: PolicyDenied, before: bend(func(a *apply) {
			a.req.ImagePath, a.req.MaskPath = "context/policies/crew.png", "context/policies/crew-mask.png"
		})},
		{name: "bk/HM22 the image becomes a FIFO", want: AliasDenied, before: func(t *testing.T, h *host, _ *apply) {
			try(t, os.Remove(h.dir+"/"+raft), syscall.Mkfifo(h.dir+"/"+raft, 0o600))
		}},
		{name: "the base of another image", want: StaleBase, before: func(t *testing.T, h *host, a *apply) {
			a.base = h.base(t, "context/notes/a.png")
		}},
		{name: "the base of another backend", before: bend(func(a *apply) { a.base.MaskPath = raftPi }), want: StaleBase},
		{name: "no base", before: bend(func(a *apply) { a.base = Base{} }), want: StaleBase},
		{name: "no record", before: hosted(func(h *host) { h.Record = nil }), want: ApplicationFailed},
		{name: "no authority", before: hosted(func(h *host) { h.Authority = nil }), want: ApplicationFailed},
		{name: "no membership", before: hosted(func(h *host) { h.Membership = nil }), want: ApplicationFailed},
		{name: "no lock", before: hosted(func(h *host) { h.Lock = nil }), want: ApplicationFailed},
		{name: "a lock that cannot be let go", want: ApplicationFailed, before: hosted(func(h *host) {
			h.Lock = func(context.Context) (func(), error) { return nil, nil }
		})},
		{name: "nobody bound, nobody asks", want: ApplicationFailed, before: func(_ *testing.T, h *host, a *apply) {
			h.Bound, a.caller = Caller{}, Caller{}
		}},
		{name: "no turn bound, none asks", want: ApplicationFailed, before: func(_ *testing.T, h *host, a *apply) {
			h.Bound.Turn, a.caller.Turn = "", ""
		}},
		{name: "no root", before: hosted(func(h *host) { h.Root = nil }), want: ApplicationFailed},
	}
}

// TestApplyRefuses: what is refused has a code, is recorded once, and leaves the
// tree as it was found; the same request is then applied by a host that nobody bent.
func TestApplyRefuses(t *testing.T) {
	for _, tt := range refusals() {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, opts dirchain.Options) {
				h := newHost(t, opts)
				if tt.setup != nil {
					tt.setup(t, h)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				a := &apply{caller(), h.base(t, raft), Request{raft, raftClaude, picture("mask")}, ctx, cancel}
				tt.before(t, h, a)
				before := tree(t, h.dir)
				res := h.Apply(a.ctx, a.caller, a.base, a.req)
				if res.OK || res.Code != tt.want || len(res.Changes) != 0 || res.Message == "" {
					t.Errorf("result: %+v, want %s", res, tt.want)
				}
				if after := tree(t, h.dir); after != before {
					t.Errorf("before:\n%safter:\n%s", before, after)
				}
				if h.Record != nil && (len(h.results) != 1 || h.results[0].Code != tt.want) {
					t.Errorf("recorded: %+v", h.results)
				}
				applied(t, newHost(t, opts))
			})
		})
	}
}
