// Package spec tells what the mediated tools are called, what they are for, and what they
// take, for whoever offers them: the host, which answers them, and a program inside the
// sandbox, which knows nothing but their names and their inputs.
//
//	for _, s := range spec.All() {
//		server.AddTool(s.Name, s.Description, json.RawMessage(s.Input), …)
//	}
//
// It also has the posture of the eight bridge tools, BRIDGE_TOOL_POSTURE (contract brainkit
// §5.2). Everything that is handed out is a copy or cannot be changed.
//
// # Limits
//
// A schema is for whoever makes an input; the tool checks the input itself and is stricter.
// JSON Schema counts characters, the tools count UTF-16 units: a text of many characters
// outside the basic plane can fit the schema and be refused. What no schema can say, such as
// ids that must be unique, is in the description and in the tool's refusal.
//
// get_current_location and show_block have a place in the posture and no spec: they need a
// browser, and brainbox does not answer them (contract brainkit §5.7, §5.9).
package spec
