package turntemp

import (
	"context"
	"time"

	"brainbox/internal/strictjson"
)

// maxInput is the length of a call in bytes.
const maxInput = 4 << 10

// maxAge is the greatest age that a call may name, in seconds: ten years.
const maxAge = 10 * 366 * 24 * 3600

// call is one decoded call.
type call struct {
	operation string
	purge     Purge
}

// Handle performs one call of the tool and returns its answer, one JSON object:
//
//	{"operation":"usage"}
//	{"operation":"purge","all":true}
//	{"operation":"purge","older_than_seconds":3600}
//
// Any other key is refused, above all one that would name a place. The error of an
// input that is none of these is an *strictjson.Error.
func (a *Access) Handle(ctx context.Context, turn string, input []byte) ([]byte, error) {
	c, err := decode(input)
	switch {
	case err != nil:
		return nil, named("call", a.misspelt(ctx, turn, c, err))
	case c.operation == OpUsage:
		u, err := a.Usage(ctx, turn)
		if err != nil {
			return nil, err
		}
		v := u.Value()
		return strictjson.Append(nil, &v), nil
	}
	rec, err := a.Purge(ctx, turn, c.purge)
	if err != nil {
		return nil, err
	}
	v := rec.Value()
	return strictjson.Append(nil, &v), nil
}

// misspelt records a call that could not be read.
func (a *Access) misspelt(ctx context.Context, turn string, c call, err error) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	rec := a.begin(turn, c.operation)
	return a.refuse(ctx, &rec, RefusedRequest, err)
}

// decode reads a call. Beside an error it may tell the operation. Pure.
func decode(input []byte) (call, error) {
	root, err := strictjson.Decode(input, strictjson.Limits{Bytes: maxInput})
	if err != nil {
		return call{}, err
	}
	op := operationOf(root)
	known := []string{"operation"}
	if op == OpPurge {
		known = append(known, "all", "older_than_seconds")
	}
	f := strictjson.Bind(root, known...)
	c := call{operation: op}
	f.Enum("operation", OpUsage, OpPurge)
	if op == OpPurge {
		c.purge = purgeOf(f)
	}
	return c, f.Err()
}

// operationOf looks which keys to expect. What it finds is bound afterwards.
func operationOf(root *strictjson.Value) string {
	if root.Kind != strictjson.KindObject {
		return ""
	}
	v := root.Get("operation")
	if v == nil || v.Kind != strictjson.KindString || v.Text != OpUsage && v.Text != OpPurge {
		return ""
	}
	return v.Text
}

func purgeOf(f *strictjson.Fields) Purge {
	if f.Has("all") == f.Has("older_than_seconds") {
		f.Invalid("all", "either all or older_than_seconds")
		return Purge{}
	}
	if f.Has("older_than_seconds") {
		return Purge{OlderThan: time.Duration(f.Int("older_than_seconds", 1, maxAge)) * time.Second}
	}
	if !f.Bool("all") {
		f.Invalid("all", "only true says anything")
	}
	return Purge{All: true}
}
