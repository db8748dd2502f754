package mask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"brainbox/dirchain"
)

// applied is the positive control.
func applied(t *testing.T, h *host) {
	t.Helper()
	res := h.Apply(t.Context(), caller(), h.base(t, raft), Request{raft, raftClaude, picture("mask")})
	if !res.OK || read(t, h.dir+"/"+raftClaude) != string(picture("mask")) {
		t.Errorf("the control: %+v", res)
	}
}

func TestApply(t *testing.T) {
	each(t, func(t *testing.T, opts dirchain.Options) {
		for _, tt := range []struct {
			name, image, mask string
			backend           Backend
			png               []byte
		}{
			{"bk/HM1", raft, raftClaude, Claude, picture("mask")},
			{"bk/HM2 nothing but the signature", raft, raftClaude, Claude, picture("")},
			{"bk/HM3 exactly the most", raft, raftClaude, Claude, append(picture(""), make([]byte, MaxBytes-len(signature))...)},
			{"bk/HM5 the name of Pi", raft, raftPi, Pi, picture("mask")},
			{"bk/HM16", "context/notes/a.png", "context/notes/a-mask.png", Claude, picture("mask")},
		} {
			t.Run(tt.name, func(t *testing.T) {
				h := newHost(t, opts)
				h.Backend = tt.backend
				base := h.base(t, tt.image)
				h.at[3] = func() {
					if h.lock.TryLock() {
						t.Error("the lock of documents is not held")
						h.lock.Unlock()
					}
				}
				if base.MaskPath != tt.mask || base.Mask != nil {
					t.Errorf("base: %+v", base)
				}
				res := h.ApplyJSON(t.Context(), caller(), base, wire(tt.image, tt.mask, tt.png))
				sum := dirchain.Sum(tt.png)
				if !res.OK || res.Code != "" || len(res.Changes) != 1 || res.Changes[0].Path != tt.mask || *res.Changes[0].SHA256 != sum {
					t.Fatalf("result: %+v", res)
				}
				if !bytes.Equal([]byte(read(t, h.dir+"/"+tt.mask)), tt.png) {
					t.Error("other bytes are in the file")
				}
				if st, err := os.Stat(h.dir + "/" + tt.mask); err != nil || st.Mode() != 0o600 {
					t.Errorf("bk/HM24: %v, %v", st.Mode(), err)
				}
				if len(h.results) != 1 || !h.results[0].OK || h.asked != 3 || h.unlocked != 1 || h.area.prepared+h.area.pruned != 0 {
					t.Errorf("recorded %+v, asked %d times, unlocked %d times, scratch %+v", h.results, h.asked, h.unlocked, h.area)
				}
				text, err := json.Marshal(res)
				want := fmt.Sprintf(`{"ok":true,"message":"the mask was written","changes":[{"path":%q,"sha256":"%s"}]}`, tt.mask, sum)
				if err != nil || string(text) != want {
					t.Errorf("JSON: %s, %v, want %s", text, err, want)
				}
			})
		}
	})
}

// TestApplyJSONRefuses: a text that is no request is a result, recorded as any.
func TestApplyJSONRefuses(t *testing.T) {
	h := newHost(t, dirchain.Options{SkipSync: true})
	base := h.base(t, raft)
	good := string(wire(raft, raftClaude, picture("mask")))
	before := tree(t, h.dir)
	for text, want := range map[string]Code{
		strings.Replace(good, "{", `{"command":"rm",`, 1):         InvalidRequest, // bk/HM18
		strings.Replace(good, `"assets/raft.png"`, "null", 1):     InvalidRequest,
		strings.Replace(good, `assets/raft.png`, `\u0000.png`, 1): InvalidTarget, // bk/HM26
		"": InvalidRequest,
		string(wire(raft, raftClaude, make([]byte, MaxBytes+1))): PayloadTooLarge, // bk/HM3
	} {
		h.results = nil
		res := h.ApplyJSON(t.Context(), caller(), base, []byte(text))
		if res.OK || res.Code != want || len(h.results) != 1 || h.results[0].Code != want {
			t.Errorf("%.80s: %+v, recorded %+v, want %s", text, res, h.results, want)
		}
		if text, err := json.Marshal(res); err != nil || !strings.Contains(string(text), `"changes":[]`) {
			t.Errorf("JSON: %s, %v", text, err)
		}
	}
	if after := tree(t, h.dir); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
	if h.revoked = errors.New("no"); h.ApplyJSON(t.Context(), caller(), base, []byte("{")).Code != AuthorityRevoked {
		t.Error("a text is read for a turn that may write nothing")
	}
	if h.revoked = nil; !h.ApplyJSON(t.Context(), caller(), base, []byte(good)).OK {
		t.Errorf("the control: %+v", h.results)
	}
}

// TestApplyCopies: bk/HM19, what is written is what was looked at.
func TestApplyCopies(t *testing.T) {
	h := newHost(t, dirchain.Options{SkipSync: true})
	png := picture("mask")
	h.locked = func(context.Context) error { clear(png); return nil }
	res := h.Apply(t.Context(), caller(), h.base(t, raft), Request{raft, raftClaude, png})
	if !res.OK || read(t, h.dir+"/"+raftClaude) != string(picture("mask")) || *res.Changes[0].SHA256 != dirchain.Sum(picture("mask")) {
		t.Errorf("result: %+v", res)
	}
	if !bytes.Equal(png, make([]byte, len(png))) {
		t.Error("the buffer was not cleared")
	}
}

// TestApplyTwice: of any number of masks over one base one is written.
func TestApplyTwice(t *testing.T) {
	h := newHost(t, dirchain.Options{SkipSync: true})
	var mu sync.Mutex
	h.Authority = func(context.Context) error { return nil }
	h.Record = func(Result) { mu.Lock(); h.asked++; mu.Unlock() }
	withMask(t, h)
	base := h.base(t, raft)
	var wg sync.WaitGroup
	results := make([]Result, 8)
	for i := range results {
		wg.Go(func() {
			results[i] = h.Apply(t.Context(), caller(), base, Request{raft, raftClaude, picture(fmt.Sprint(i))})
		})
	}
	wg.Wait()
	won := -1
	for i, res := range results {
		switch {
		case res.OK && won < 0:
			won = i
		case res.OK || res.Code != StaleBase:
			t.Errorf("%d: %+v, and %d won", i, res, won)
		}
	}
	if won < 0 || read(t, h.dir+"/"+raftClaude) != string(picture(fmt.Sprint(won))) || h.asked != len(results) {
		t.Errorf("%d won, %d recorded: %+v", won, h.asked, results)
	}
}
