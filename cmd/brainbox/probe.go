package main

import (
	"github.com/urfave/cli/v2"

	"brainbox/internal/strictjson"
	"brainbox/launcher"
)

// probeAction is `brainbox probe`.
func probeAction(c *cli.Context) error {
	answers := launcher.ProbeHost()
	if c.Bool("json") {
		list := make([]strictjson.Value, 0, len(answers))
		for _, a := range answers {
			list = append(list, strictjson.Object(
				strictjson.Pair("name", strictjson.Text(a.Name)),
				strictjson.Pair("available", strictjson.Bool(a.Available)),
				strictjson.Pair("detail", strictjson.Text(a.Detail)),
				strictjson.Pair("layer", strictjson.Text(a.Layer)),
				strictjson.Pair("route", strictjson.Text(a.Route)),
			))
		}
		v := strictjson.Object(
			strictjson.Pair("schema", strictjson.Text("brainbox/probe/v1")),
			strictjson.Pair("answers", strictjson.Array(list...)),
		)
		printf(c.App.Writer, "%s", strictjson.AppendLine(nil, &v))
		return nil
	}
	for _, a := range answers {
		state := "yes"
		if !a.Available {
			state = "no"
		}
		printf(c.App.Writer, "%-18s %-4s %s\n", a.Name, state, oneLine(a.Detail))
		if a.Route != "" {
			printf(c.App.Writer, "%-23s %s\n", "", oneLine(a.Layer+": "+a.Route))
		}
	}
	return nil
}
