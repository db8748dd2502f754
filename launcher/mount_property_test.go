package launcher

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"brainbox/policy"
)

// seen is what a place shows inside.
type seen struct{ there, write, exec, empty bool }

// model says what a place must show, straight from the words of the policy: the innermost
// grant counts, deny beats every grant, protect takes the writing away.
func model(entries []policy.Entry, at string) seen {
	var s seen
	grant, protected := "", false
	for _, e := range entries {
		if !policy.Below(at, e.Path) {
			continue
		}
		switch {
		case e.Right == policy.RightDeny:
			s.empty = true
		case e.Right == policy.RightProtect:
			protected = true
		case len(e.Path) >= len(grant):
			grant, s.there, s.write, s.exec = e.Path, true, e.Right.Writes(), e.Right.Execs()
		}
	}
	s.write = s.write && !protected
	if !s.there || s.empty {
		return seen{there: s.there, empty: s.there && s.empty}
	}
	return s
}

// shows says what the steps make of a place, in the words of mount(8): the mount point
// that is nearest above it counts.
func shows(list []Mount, at string) seen {
	best, s := -1, seen{}
	for i, m := range list {
		if m.Kind == MountGrant || m.Kind == MountDir || m.Kind == MountFile || m.Kind == MountLink || !policy.Below(at, m.Path) {
			continue
		}
		if best >= 0 && len(m.Path) < len(list[best].Path) {
			continue
		}
		best = i
		s = seen{there: m.Kind != MountFS, write: m.Writable, exec: m.Exec}
		if m.Kind == MountMask {
			s = seen{there: true, empty: true}
		}
	}
	return s
}

// inOrderOfMaking checks what package spawn insists on: what is made has a parent that was
// made, what is covered lies in a bound tree, and nothing is mounted over what was mounted
// before.
func inOrderOfMaking(t *testing.T, list []Mount) {
	t.Helper()
	own, foreign, mounted, fs := map[string]bool{"/": true}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	inForeign := func(p string) bool {
		for ; p != "/"; p = path.Dir(p) {
			if foreign[p] {
				return true
			}
			if own[p] {
				return false
			}
		}
		return false
	}
	for _, m := range list {
		ok := true
		switch m.Kind {
		case MountDir, MountFile, MountLink:
			ok = own[path.Dir(m.Path)] && !own[m.Path]
			own[m.Path] = m.Kind != MountLink
		case MountFS:
			ok, fs[m.Path] = own[m.Path], true
			foreign[m.Path] = m.FSType != "tmpfs"
		case MountBind:
			ok = own[m.Path] != m.Over && (!m.Over || inForeign(m.Path))
			foreign[m.Path] = true
		case MountSelf:
			ok = inForeign(m.Path) && m.Held.In != HeldNone
		case MountMask:
			ok = inForeign(m.Path)
		case MountGrant:
			ok = own[m.Path] || fs[m.Path]
		}
		if m.Kind >= MountFS && m.Kind <= MountMask {
			for other := range mounted {
				ok = ok && !policy.Below(other, m.Path)
			}
			mounted[m.Path] = true
		}
		if foreign[m.Path] {
			delete(own, m.Path)
		}
		if !ok {
			t.Errorf("out of order: %s", showMounts([]Mount{m}))
		}
	}
}

func TestMountsAreInOrder(t *testing.T) {
	for _, c := range append(mountCases(), insideCases()...) {
		t.Run(c.name, func(t *testing.T) {
			plan, _ := insidePlan(t, c.world, c.policy)
			inOrderOfMaking(t, plan.Mounts)
		})
	}
}

// Whatever is granted, protected and denied inside whatever: every place shows what the
// policy says, and what must stay cannot be moved.
func TestMountsMeanThePolicy(t *testing.T) {
	rounds := uint64(3000)
	if testing.Short() {
		rounds = 300
	}
	var tree, places []string
	for _, a := range "abc" {
		for _, b := range "abc" {
			for _, c := range "abc" {
				places = append(places, fmt.Sprintf("/d/%c/%c/%c", a, b, c))
				tree = append(tree, fmt.Sprintf("/d/%c/%c/%c/", a, b, c))
			}
			places = append(places, fmt.Sprintf("/d/%c/%c", a, b))
		}
		places = append(places, "/d/"+string(a))
	}
	rights := []policy.Right{
		policy.RightRead, policy.RightExec, policy.RightWrite, policy.RightWriteExec, policy.RightProtect, policy.RightDeny,
	}
	refused := 0
	for seed := range rounds {
		r := rand.New(rand.NewPCG(seed, 2))
		lists := map[string][]string{}
		var entries []policy.Entry
		used := map[string]bool{}
		for range 1 + r.IntN(7) {
			at, right := places[r.IntN(len(places))], rights[r.IntN(len(rights))]
			if used[at] {
				continue // two entries on one place are package policy's to settle
			}
			used[at] = true
			lists[right.String()] = append(lists[right.String()], fmt.Sprintf("%q", at))
			entries = append(entries, policy.Entry{Path: at, Right: right})
		}
		text := "[filesystem]\n"
		for _, right := range rights {
			if l := lists[right.String()]; len(l) > 0 {
				text += right.String() + " = [" + strings.Join(l, ", ") + "]\n"
			}
		}
		plan, _ := insidePlan(t, world{host: host{abi: 7, uid: 1000}, tree: append(debian(), tree...)}, text)
		if plan.Refusal != nil {
			refused++
			continue
		}
		inOrderOfMaking(t, plan.Mounts)
		for _, at := range places {
			want, got := model(entries, at), shows(plan.Mounts, at)
			if want != got {
				t.Errorf("seed %d: %s shows %+v, want %+v\n%s\n%s", seed, at, got, want, text, showMounts(plan.Mounts))
			}
		}
		pinned(t, seed, entries, plan)
		if t.Failed() {
			return
		}
	}
	if refused > int(rounds)/2 {
		t.Errorf("%d of %d policies are refused", refused, rounds)
	}
}

// pinned checks that every folder between a write grant and what must stay is a mount point.
func pinned(t *testing.T, seed uint64, entries []policy.Entry, plan *Plan) {
	t.Helper()
	point := map[string]bool{}
	for _, m := range plan.Mounts {
		point[m.Path] = point[m.Path] || m.Kind == MountSelf || m.Kind == MountBind || m.Kind == MountMask
	}
	for _, e := range entries {
		above := model(entries, path.Dir(e.Path))
		here := model(entries, e.Path)
		if !above.write || e.Right.Writes() || e.Right != policy.RightDeny && here.write {
			continue
		}
		for dir := e.Path; dir != "/d"; dir = path.Dir(dir) {
			if model(entries, path.Dir(dir)).write && !point[dir] {
				t.Errorf("seed %d: %s can be moved, and with it %s %s\n%s", seed, dir, e.Right, e.Path, showMounts(plan.Mounts))
			}
		}
	}
}
