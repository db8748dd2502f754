package netns

import (
	"errors"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// The requests are, byte for byte, what a library of the field makes of the same wish.
func TestRequestsAreThoseOfALibrary(t *testing.T) {
	route := func(family uint8) *rtnetlink.RouteMessage {
		return &rtnetlink.RouteMessage{
			Family: family, Table: unix.RT_TABLE_LOCAL, Protocol: unix.RTPROT_STATIC, Scope: unix.RT_SCOPE_HOST,
			Type: unix.RTN_LOCAL, Attributes: rtnetlink.RouteAttributes{OutIface: lo},
		}
	}
	const make = netlink.Request | netlink.Acknowledge | netlink.Create | netlink.Excl
	for _, c := range []struct {
		name  string
		got   []byte
		kind  netlink.HeaderType
		flags netlink.HeaderFlags
		body  rtnetlink.Message
	}{
		{
			"lo up", linkUp(7), unix.RTM_NEWLINK, netlink.Request | netlink.Acknowledge,
			&rtnetlink.LinkMessage{Index: lo, Flags: unix.IFF_UP, Change: unix.IFF_UP},
		},
		{"IPv4", localDefault(7, unix.AF_INET), unix.RTM_NEWROUTE, make, route(unix.AF_INET)},
		{"IPv6", localDefault(7, unix.AF_INET6), unix.RTM_NEWROUTE, make, route(unix.AF_INET6)},
	} {
		body, err := c.body.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		size := uint32(unix.NLMSG_HDRLEN + len(body))
		want, err := netlink.Message{Header: netlink.Header{Length: size, Type: c.kind, Flags: c.flags, Sequence: 7}, Data: body}.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.got); diff != "" {
			t.Errorf("%s (-library +ours):\n%s", c.name, diff)
		}
	}
}

// What an answer means: no IPv6 is no error, everything else is, and names its step.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name            string
		link, four, six syscall.Errno
		wantSix         bool
		wantErr         syscall.Errno
		wantStep        string
	}{
		{"no lo", unix.EPERM, 0, 0, false, unix.EPERM, "netns: lo up: operation not permitted"},
		{"a link that exists", unix.EEXIST, 0, 0, false, unix.EEXIST, "netns: lo up: file exists"},
		{"no route", 0, unix.ENETDOWN, unix.ENETDOWN, false, unix.ENETDOWN, "netns: route of IPv4: network is down"},
		{"no IPv4", 0, unix.EOPNOTSUPP, 0, false, unix.EOPNOTSUPP, "netns: route of IPv4: operation not supported"},
		{"not allowed", 0, 0, unix.EPERM, false, unix.EPERM, "netns: route of IPv6: operation not permitted"},
		{"IPv6 switched off", 0, 0, unix.EACCES, false, 0, ""},
		{"a kernel without", 0, 0, unix.EOPNOTSUPP, false, 0, ""},
		{"all", 0, 0, 0, true, 0, ""},
		{"once more", 0, unix.EEXIST, unix.EEXIST, true, 0, ""},
	} {
		six, err := judge([]answer{{seqLink, c.link}, {seqRoute4, c.four}, {seqRoute6, c.six}})
		switch {
		case six != c.wantSix:
			t.Errorf("%s: IPv6 is %v", c.name, six)
		case c.wantErr == 0 && err != nil, c.wantErr != 0 && (!errors.Is(err, c.wantErr) || err.Error() != c.wantStep):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// ack is an answer as the kernel writes it.
func ack(seq uint32, errno int32) []byte {
	return header(unix.NLMSG_ERROR, 0, seq, []byte{byte(errno), byte(errno >> 8), byte(errno >> 16), byte(errno >> 24)})
}

func TestParse(t *testing.T) {
	short := ack(1, 0)
	short[0]--
	long := ack(1, 0)
	long[0]++
	other := ack(1, 0)
	other[4] = unix.NLMSG_DONE
	for name, b := range map[string][]byte{
		"cut short": ack(1, 0)[:19], "a length below": short, "a length above": long, "another type": other,
		"a positive errno": ack(1, 5), "none of Linux": ack(1, -5000), "the second": append(ack(1, 0), 1),
	} {
		if got, err := parse(b); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	got, err := parse(append(ack(1, 0), ack(2, -int32(unix.EPERM))...)) // positive control
	if want := []answer{{1, 0}, {2, unix.EPERM}}; err != nil || !cmp.Equal(got, want, cmp.AllowUnexported(answer{})) {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(ack(1, 0))
	f.Add(append(ack(2, -1), ack(3, 0)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parse(b)
		if err != nil {
			return
		}
		if len(list) > len(b)/(unix.NLMSG_HDRLEN+4) {
			t.Errorf("%d answers in %d bytes", len(list), len(b))
		}
		for _, a := range list {
			if a.errno > 4095 {
				t.Errorf("errno %d", a.errno)
			}
		}
	})
}
