// Package show makes of text from a sandbox what a person can decide by: text that
// cannot lie about itself.
//
//	fmt.Fprintln(tty, "run   ", show.Field(command))
//	for _, row := range show.Agent(message, columns) {
//		fmt.Fprintln(tty, row) // agent| please hurry
//	}
//	host := show.Name("аpi.example.com") // Text: \u{430}pi.example.com, and two warnings
//
// Whatever writes for people (terminal, card, log, notification) calls it where it
// writes; nothing else in the gate makes text for people. The rules are:
//
//   - What is hidden (package internal/visible) and every byte that is not UTF-8 is an
//     escape, \x1b, \n or \u{202e}; a backslash is \\, so no text can pretend to be one.
//     A combining mark is shown behind a letter of its script, stays with it where a text is
//     folded or a row ends, and is escaped elsewhere: it would change the character before
//     it, which may be ours, or have no glyph there. Blanks at an end are \x20.
//   - The same blank or hidden character five times and more is folded: `\n\{4096 times}`.
//   - What is too long keeps its head and its tail: `\{3712 more characters}`,
//     `\{12 more lines}`. Nothing but these markers has a brace behind a single backslash.
//   - Each row of an agent's text begins with [AgentMark] and fits the window.
//
// [Whole] loses nothing: two different texts are never shown as the same characters.
//
// # Limits
//
// Characters that are not ASCII count two columns, an upper bound for terminals that
// have the same tables; a window of less than [MinColumns] columns breaks rows by itself.
// Letters of right-to-left scripts are shown, and a renderer may reorder what stands
// beside them: [Doubts] says so. Look-alikes in ASCII (rn and m, 1 and l) are not found, nor
// words all of one other script, and é is shown alike as one character and as two.
// The tables are those of package unicode (Unicode 15); what came later is escaped.
package show
