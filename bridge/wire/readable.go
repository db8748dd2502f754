package wire

import "brainbox/internal/strictjson"

// What a frame has around its result: an object, and two texts in it.
const (
	frameDepth  = 1
	frameKeys   = 3
	frameValues = 3
)

// Unreadable says why [DecodeReply] would refuse the frame of a result: CodeTooComplex or
// CodeDuplicateKey; empty: it would not, unless the frame is too long. Whose frame is
// refused has lost the connection, with all that it still waits for.
func Unreadable(result *strictjson.Value) string {
	c := counter{keys: frameKeys, values: frameValues}
	if result != nil {
		c.count(result, frameDepth)
	}
	return c.code
}

// counter is how much was seen.
type counter struct {
	keys, values int
	code         string // the first that is wrong
}

// count counts a value with depth arrays and objects around it.
func (c *counter) count(v *strictjson.Value, depth int) {
	c.values++
	if v.Kind == strictjson.KindArray || v.Kind == strictjson.KindObject {
		depth++
	}
	c.keys += len(v.Members)
	if c.values > strictjson.DefaultValues || c.keys > strictjson.DefaultKeys || depth > strictjson.DefaultDepth {
		c.code = CodeTooComplex
	}
	for i := 0; i < len(v.Items) && c.code == ""; i++ {
		c.count(&v.Items[i], depth)
	}
	if c.code == "" && twice(v.Members) {
		c.code = CodeDuplicateKey
	}
	for i := 0; i < len(v.Members) && c.code == ""; i++ {
		c.count(&v.Members[i].Value, depth)
	}
}

// twice reports whether two members have one key.
func twice(members []strictjson.Member) bool {
	const few = 12 // are compared faster than put into a map
	if len(members) <= few {
		for i := range members {
			for j := range i {
				if members[i].Key == members[j].Key {
					return true
				}
			}
		}
		return false
	}
	seen := make(map[string]struct{}, len(members))
	for i := range members {
		seen[members[i].Key] = struct{}{}
	}
	return len(seen) < len(members)
}
