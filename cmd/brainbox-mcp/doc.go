// Brainbox-mcp offers the tools of a bridge as an MCP server on standard input and output,
// inside the sandbox. brainbox mcp starts it; an MCP client names it as
//
//	{"command": "brainbox", "args": ["mcp"]}
//
// It finds the bridge by BRAINBOX_SOCKET, else BRAINBOX_BRIDGE_FD (package bridge/client),
// lists the tools that the host says it has, and forwards calls. A command that the host
// allowed to run inside is run by this process (package bridge/inside). The exit status is 0,
// or 125 with the reason on standard error.
//
// A result is one text: the output, as JSON unless it is a text itself; or, marked as an
// error, an object with status and error of the parent tool result. A call that was not
// decided yet tells its progress every few seconds if the client asked for that, so that it
// does not give up on a person who thinks.
//
// # Limits
//
// Standard output carries MCP and nothing else. The list of tools is that of the start. An
// input is an object, as MCP has it. It holds BRAINBOX_BRIDGE_FD as long as it runs, so
// that no other program can use that; BRAINBOX_SOCKET has no such limit.
package main
