package profile

import (
	"fmt"
	"strings"
)

// Table returns the groups as the Markdown table of docs/seccomp.md.
func Table() string {
	var b strings.Builder
	b.WriteString("| group | calls | action | why |\n| --- | --- | --- | --- |\n")
	for _, g := range Groups() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", g.Name, strings.Join(g.Calls, ", "), g.Does, g.Why)
	}
	return b.String()
}
