package spec

import "strings"

// The bridge tools, in the fixed order of the posture.
const (
	AskUser            = "ask_user"
	AskUserList        = "ask_user_list"
	AskUserRank        = "ask_user_rank"
	AskUserForm        = "ask_user_form"
	GetCurrentLocation = "get_current_location"
	RequestImageMask   = "request_image_mask"
	QueryActivity      = "query_activity"
	ShowBlock          = "show_block"
)

// Prefix stands before a bridge tool's name where tools are named by their MCP server.
const Prefix = "mcp__brain-ui__"

// Effect is what a bridge tool does outside of its answer.
type Effect string

// The effects.
const (
	EffectNone    Effect = "none"
	EffectAsks    Effect = "asks"
	EffectBrowser Effect = "browser prompt"
	EffectMask    Effect = "writes a PNG"
)

// Contract is the posture of one bridge tool. All of them are allowed without a decision:
// none is a permission, and for the mask the editor is the approval.
type Contract struct {
	Name   string
	Effect Effect
	Voice  bool // can be used in a turn without a screen

	// Eyes: needs a person who looks. Refused in a turn with noGrantSurface.
	Eyes bool
}

// Prefixed is the name with [Prefix].
func (c Contract) Prefixed() string { return Prefix + c.Name }

// posture is an array, and handed out as a copy: it cannot be changed.
var posture = [...]Contract{
	{Name: AskUser, Effect: EffectAsks, Voice: true},
	{Name: AskUserList, Effect: EffectAsks, Eyes: true},
	{Name: AskUserRank, Effect: EffectAsks, Eyes: true},
	{Name: AskUserForm, Effect: EffectAsks, Eyes: true},
	{Name: GetCurrentLocation, Effect: EffectBrowser, Voice: true},
	{Name: RequestImageMask, Effect: EffectMask, Eyes: true},
	{Name: QueryActivity, Effect: EffectNone, Voice: true},
	{Name: ShowBlock, Effect: EffectNone, Voice: true},
}

// Posture is BRIDGE_TOOL_POSTURE: the eight bridge tools in their order.
func Posture() [len(posture)]Contract { return posture }

// FindContract gives the posture of a bridge tool by either spelling of its name.
func FindContract(name string) (Contract, bool) {
	bare := strings.TrimPrefix(name, Prefix)
	for _, c := range posture {
		if c.Name == bare {
			return c, true
		}
	}
	return Contract{}, false
}

// AllowedNames gives the names of the posture in its order, bare or prefixed, for the list
// of tools that need no decision.
func AllowedNames(prefixed bool) []string {
	out := make([]string, 0, len(posture))
	for _, c := range posture {
		if prefixed {
			out = append(out, c.Prefixed())
		} else {
			out = append(out, c.Name)
		}
	}
	return out
}
