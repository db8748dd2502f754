package wire

// Protocol is the version of the transport: a name and a major number.
const Protocol = "brainbox/1"

// PermissionsVersion is the version of what permissions say.
const PermissionsVersion = 1

// The methods (section E.4).
const (
	MethodHello            = "hello"
	MethodPing             = "ping"
	MethodCancel           = "cancel" // a notification
	MethodToolCall         = "tool.call"
	MethodPermissionCheck  = "permission.check"
	MethodPermissionPrompt = "permission.prompt"
	MethodFSWrite          = "fs.write"
	MethodFSMkdir          = "fs.mkdir"
	MethodFSRename         = "fs.rename"
	MethodFSRemove         = "fs.remove"
	MethodFSMask           = "fs.mask"
	MethodDelegate         = "delegate.request"
	MethodEventsSubscribe  = "events.subscribe"
	MethodPromptList       = "prompt.list"
	MethodPromptAnswer     = "prompt.answer"
	MethodGrantsList       = "grants.list"
	MethodGrantsRevoke     = "grants.revoke"
	MethodEvent            = "event" // of the server, a notification
)

// Role is who a connection is for. It is a property of the listener, never of a message.
type Role uint8

// The roles. The zero value may nothing.
const (
	NoRole Role = iota
	Agent
	UI
)

// String returns the name of the role.
func (r Role) String() string {
	switch r {
	case Agent:
		return "agent"
	case UI:
		return "ui"
	case NoRole:
	}
	return "none"
}

// roles says whose a method is; with both it is everybody's.
var roles = map[string]struct{ agent, ui bool }{
	MethodHello:            {true, true},
	MethodPing:             {true, true},
	MethodCancel:           {true, true},
	MethodToolCall:         {agent: true},
	MethodPermissionCheck:  {agent: true},
	MethodPermissionPrompt: {agent: true},
	MethodFSWrite:          {agent: true},
	MethodFSMkdir:          {agent: true},
	MethodFSRename:         {agent: true},
	MethodFSRemove:         {agent: true},
	MethodFSMask:           {agent: true},
	MethodDelegate:         {agent: true},
	MethodEventsSubscribe:  {ui: true},
	MethodPromptList:       {ui: true},
	MethodPromptAnswer:     {ui: true},
	MethodGrantsList:       {ui: true},
	MethodGrantsRevoke:     {ui: true},
}

// Allowed tells whether a client may call the method at all, and whether this role may.
func Allowed(method string, r Role) (known, allowed bool) {
	m, known := roles[method]
	return known, known && (m.agent && r == Agent || m.ui && r == UI)
}
