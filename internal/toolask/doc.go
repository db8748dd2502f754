// Package toolask is what brainbox asks brainbox-host about tools, and the answer: one
// JSON object each way.
//
//	text := toolask.Request{AnyTool: true, Rules: rules, Tool: "bash", Text: "git push"}.Encode()
//	...
//	reply, err := toolask.DecodeReply(out)
//
// It knows no gate, so that brainbox itself needs no parser of shell texts.
//
// # Limits
//
// Both sides are of one version: a reply of another protocol or version is an error.
package toolask
