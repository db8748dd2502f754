package main

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"brainbox/internal/netask"
	"brainbox/policy"
	"brainbox/proxy/allow"
)

const (
	// shownRefusals is how many hosts the end of a run names.
	shownRefusals = 10

	// keptRefusals is how many are told apart: the program chooses the names.
	keptRefusals = 1024
)

// hostFlag begins the flag that allows a host.
const hostFlag = "--allow-host "

// refusal is one host that was not reached, and why.
type refusal struct {
	host   string
	port   uint16
	reason allow.Reason
}

// refusals counts what was refused to a program.
type refusals struct {
	mu    sync.Mutex
	count map[refusal]int
	order []refusal // as they came first
	more  int       // that were not told apart
	lost  int64     // decisions that nobody heard of, of which some may be refusals
}

func (r *refusals) add(e *netask.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost += e.Lost
	if e.Allowed() || e.Closed || e.Lost > 0 || e.Reason == string(allow.Gone) { // nobody was refused anything
		return
	}
	one := refusal{e.Host, e.Port, allow.Reason(e.Reason)}
	switch {
	case r.count[one] > 0:
	case len(r.order) >= keptRefusals:
		r.more++
		return
	default:
		r.order = append(r.order, one)
	}
	if r.count == nil {
		r.count = map[refusal]int{}
	}
	r.count[one]++
}

// take gives what an entry would allow, and forgets it.
func (r *refusals) take(each func(one *refusal, n int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order = slices.DeleteFunc(r.order, func(one refusal) bool {
		if !strings.HasPrefix(one.hint(), hostFlag) {
			return false
		}
		each(&one, r.count[one])
		delete(r.count, one)
		return true
	})
}

// tell prints one line for each, the most frequent first, and what would allow the first that
// an entry would allow.
func (r *refusals) tell(w io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.order)
	slices.SortStableFunc(list, func(a, b refusal) int { return r.count[b] - r.count[a] })
	shown := list[:min(len(list), shownRefusals)]
	for i := range shown {
		times := ""
		if n := r.count[shown[i]]; n > 1 {
			times = " (" + strconv.Itoa(n) + " times)"
		}
		printf(w, "brainbox: %s: %s: %s%s\n", shown[i].verb(), oneLine(shown[i].name()), shown[i].why(), times)
	}
	if left := len(list) - len(shown) + r.more; left > 0 {
		printf(w, "brainbox: … and %d more\n", left)
	}
	if r.lost > 0 {
		printf(w, "brainbox: %d decisions about the network are not known: there were too many at once\n", r.lost)
	}
	for i := range shown {
		if hint := shown[i].hint(); hint != "" {
			printf(w, "brainbox: hint: %s\n", hint)
			return
		}
	}
}

// name is the host as an entry would name it.
func (r *refusal) name() string {
	if r.host == "" { // nothing that was said could be read as a request, or there was no time to read it
		return "a request without a name"
	}
	h := policy.Host{Name: r.host, Port: r.port}
	return h.String()
}

// verb tells what the policy refuses from what is not there.
func (r *refusal) verb() string {
	switch r.reason {
	case allow.Unresolved, allow.Unreachable, allow.Busy, allow.PortTaken:
		return "not reached"
	default:
		return "refused"
	}
}

// why is a reason of package allow in words.
func (r *refusal) why() string {
	switch r.reason {
	case allow.Malformed:
		if r.host == "" {
			return "it is no proper request"
		}
		return "no host name"
	case allow.NotListed:
		return "not listed"
	case allow.PortClosed:
		return "listed with another port"
	case allow.Literal:
		return "an address that is not listed"
	case allow.Private:
		return "it leads to an address that is not public and not listed"
	case allow.Unresolved:
		return "the host finds no address"
	case allow.Unreachable:
		return "nothing answers there"
	case allow.ServerName:
		return "what the program sent is no TLS greeting for this name"
	case allow.Busy:
		return "too much at once"
	case allow.PortTaken:
		return "the program itself listens on port " + strconv.Itoa(int(r.port)) + " at every address"
	case allow.Itself:
		return "it leads to this run itself"
	default:
		return oneLine(string(r.reason))
	}
}

// hint is what would allow it; empty where no entry would, or the name is none that an entry
// takes: what the program chose is not shown as something to type.
func (r *refusal) hint() string {
	h, err := policy.ParseHost(r.name())
	if err != nil {
		return ""
	}
	switch r.reason {
	case allow.NotListed, allow.PortClosed, allow.Literal:
		return hostFlag + h.String()
	case allow.PortTaken:
		return "let the program listen on port " + strconv.Itoa(int(r.port)) + " at 127.0.0.1 alone"
	case allow.Private:
		return "the address that " + h.Name + " leads to has to be listed too: --allow-host ADDRESS:" + strconv.Itoa(int(r.port))
	default:
		return ""
	}
}
