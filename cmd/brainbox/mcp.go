package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"brainbox/launcher"
)

// mcpAction becomes brainbox-mcp: it parses HTTP and more, which this program does not.
func mcpAction(c *cli.Context) error {
	if c.NArg() > 0 {
		return refuse("brainbox mcp takes no arguments", "")
	}
	return launcher.BecomeSibling("brainbox-mcp", []string{"--protocol=1"}, os.Environ())
}
