package bridge

import (
	"context"
	"encoding/hex"
	"time"

	"brainbox/bridge/wire"
	"brainbox/gate/prompt"
	"brainbox/internal/strictjson"
)

// promptList is prompt.list. With a requestId it is of that prompt alone.
func (c *conn) promptList(_ context.Context, params *strictjson.Value) (reply, error) {
	f := strictjson.Bind(params, "requestId")
	only := optional(f, "requestId")
	if err := f.Err(); err != nil {
		return reply{}, err
	}
	var pending []prompt.View
	if c.s.c.Broker != nil {
		c.mu.Lock()
		_, err := c.attached()
		c.mu.Unlock()
		if err != nil {
			return reply{}, err
		}
		pending = c.s.c.Broker.List()
	}
	v := listed(pending, only, c.s.l.Frame-4096)
	return reply{value: &v}, nil
}

// listed lists prompts, or the one with an id, in so many bytes.
func listed(pending []prompt.View, only string, room int) strictjson.Value {
	list := promptList{room: room}
	for i := range pending {
		v := &pending[i]
		if only != "" && v.ID != only {
			continue
		}
		if !list.add(promptView(v, true)) && !list.add(promptView(v, false)) {
			break // the first ones are what is asked
		}
	}
	return list.value()
}

// promptList is as many prompts as a frame can have. What an agent asks for may have more
// bytes than fit into one, or more parts than are read.
type promptList struct {
	room  int // bytes
	items []strictjson.Value
}

func (l *promptList) value() strictjson.Value {
	return strictjson.Object(strictjson.Pair("prompts", strictjson.Array(l.items...)))
}

// add adds a prompt if there is room for it.
func (l *promptList) add(p strictjson.Value) bool {
	n := len(strictjson.Append(nil, &p)) + 1
	if n > l.room {
		return false
	}
	with := promptList{items: append(l.items[:len(l.items):len(l.items)], p)}
	v := with.value()
	if wire.Unreadable(&v) != "" {
		return false
	}
	l.room, l.items = l.room-n, with.items
	return true
}

// mostRows is how many rows of a prompt are listed that does not fit whole (section E.4).
const mostRows = 24

// promptView is one prompt. Its texts are for showing as they are; without whole the long
// forms, the input, and rows that are too many are left out, and cut says so: it must not be
// approved unseen.
func promptView(v *prompt.View, whole bool) strictjson.Value {
	rows := strictjson.Array()
	for i, r := range v.Rows {
		if !whole && i == mostRows {
			break
		}
		row := strictjson.Object(
			strictjson.Pair("name", strictjson.Text(r.Name)),
			strictjson.Pair("text", strictjson.Text(r.Text)),
			strictjson.Pair("agent", strictjson.Bool(r.Agent)),
		)
		if whole && r.Whole != r.Text {
			row.Add("whole", strictjson.Text(r.Whole))
		}
		rows.Items = append(rows.Items, row)
	}
	p := strictjson.Object(
		strictjson.Pair("requestId", strictjson.Text(v.ID)),
		strictjson.Pair("digest", strictjson.Text(hex.EncodeToString(v.Digest[:]))),
		strictjson.Pair("sessionId", strictjson.Text(v.Session)),
		strictjson.Pair("agentName", orNull(v.Agent)),
		strictjson.Pair("source", strictjson.Text(string(v.Source))),
		strictjson.Pair("rows", rows),
		strictjson.Pair("warnings", strictjson.Texts(v.Warnings)),
		strictjson.Pair("grant", orNull(v.Grant)),
		strictjson.Pair("editable", strictjson.Bool(v.Input != nil)),
		strictjson.Pair("refused", strictjson.Int(int64(v.Refused))),
		strictjson.Pair("leftMs", strictjson.Int(max(0, time.Until(v.Deadline).Milliseconds()))),
		strictjson.Pair("cut", strictjson.Bool(!whole)),
	)
	if whole && v.Input != nil {
		if input, err := strictjson.Decode(v.Input, strictjson.Limits{}); err == nil {
			p.Add("input", *input)
		}
	}
	return p
}
