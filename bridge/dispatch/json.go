package dispatch

import (
	"context"
	"encoding/json"
	"errors"

	"brainbox/bridge/envelope"
	"brainbox/internal/strictjson"
)

// JSON is a [Handler] that reads its input and writes its output as JSON text: what a host
// has that is none of this module. No output is none; an output that two readers could read
// differently is internal_error.
func JSON(f func(ctx context.Context, input json.RawMessage) (json.RawMessage, error)) Handler {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, r *envelope.Request) (*strictjson.Value, error) {
		out, err := f(ctx, strictjson.Append(nil, &r.Input))
		if err != nil || len(out) == 0 {
			return nil, err
		}
		v, err := strictjson.Decode(out, strictjson.Limits{})
		if err != nil {
			return nil, errors.Join(errors.New("dispatch: the output is not JSON"), err)
		}
		return v, nil
	}
}
