package client

import (
	"context"
	"fmt"

	"brainbox/bridge/envelope"
	"brainbox/internal/strictjson"
)

// CallJSON is [Client.Call] for an input that is JSON text: what a program has that is none
// of this module. A text that two readers could read differently is an error, and no call.
// The output is [envelope.Result.OutputJSON].
func (c *Client) CallJSON(ctx context.Context, tool string, input []byte) (*envelope.Result, error) {
	v, err := strictjson.Decode(input, strictjson.Limits{})
	if err != nil {
		return nil, fmt.Errorf("client: the input of %s: %w", strictjson.Escape(tool), err)
	}
	return c.Call(ctx, tool, v)
}
