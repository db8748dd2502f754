package bridge

import (
	"fmt"
	"strings"
	"testing"

	"brainbox/bridge/wire"
	"brainbox/gate/prompt"
)

// What an agent asks for cannot keep a prompt from an operator, nor end the operator's
// connection: a prompt that no frame can have whole is listed in short.
func TestPromptsThatAreTooMuch(t *testing.T) {
	rows := func(n int, whole string) (all []prompt.Row) {
		for i := range n {
			all = append(all, prompt.Row{Name: "runs", Text: fmt.Sprint("q", i), Whole: whole})
		}
		return all
	}
	small := prompt.View{ID: "p2", Rows: rows(3, "w")}
	for _, tt := range []struct {
		name string
		v    prompt.View
		cut  bool
	}{
		{"rows", prompt.View{Rows: rows(3600, "w")}, true}, // a command of 20 kB
		{"values", prompt.View{Rows: rows(1, "w"), Input: []byte(`[` + strings.Repeat("0,", 49_980) + `0]`)}, true},
		{"bytes", prompt.View{Rows: rows(1, strings.Repeat("x", 2<<20))}, true},
		{"control", prompt.View{Rows: rows(1000, "w"), Input: []byte(`{"a":1}`)}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.v.ID = "p1"
			for only, want := range map[string]int{"": 2, "p1": 1} {
				v := listed([]prompt.View{tt.v, small}, only, wire.MaxFrame-4096)
				m := wire.Message{Kind: wire.Result, ID: "1", Result: &v}
				frame := m.Append(nil)
				got, err := wire.DecodeReply(frame[:len(frame)-1])
				if err != nil {
					t.Fatalf("%v: %.300s", err, frame)
				}
				list := got.Result.Get("prompts").Items
				if len(list) != want || list[0].Get("cut").Bool != tt.cut || tt.cut && len(list[0].Get("rows").Items) > mostRows {
					t.Fatalf("%q: %d prompts, %.300s", only, len(list), frame)
				}
				if want == 2 && list[1].Get("cut").Bool {
					t.Errorf("the other is cut")
				}
			}
		})
	}
}
