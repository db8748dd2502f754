package keeper

import (
	"bytes"
	"slices"
	"testing"
	"time"
)

func TestOrderTravels(t *testing.T) {
	for _, o := range []order{
		{argv: []string{"a"}},
		{path: "/x", argv: []string{"a", "", "\xff\n"}, env: []string{"A=\x01", "B="}, grace: time.Second, cgroup: true},
	} {
		got, err := readOrder(bytes.NewReader(o.encode()))
		if err != nil || got.path != o.path || !slices.Equal(got.argv, o.argv) || !slices.Equal(got.env, o.env) || got.grace != o.grace || got.cgroup != o.cgroup {
			t.Errorf("%+v became %+v, %v", o, got, err)
		}
	}
}

func FuzzParseOrder(f *testing.F) {
	o := order{path: "/x", argv: []string{"a", "b"}, env: []string{"A=1"}, grace: 5, cgroup: true}
	f.Add(o.encode()[4:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := parseOrder(body)
		if err != nil {
			return
		}
		again, err := parseOrder(o.encode()[4:])
		if err != nil || !slices.Equal(again.argv, o.argv) || !slices.Equal(again.env, o.env) || again.path != o.path {
			t.Errorf("%+v became %+v, %v", o, again, err)
		}
	})
}
