package main

import (
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"brainbox/bridge/envelope"
	"brainbox/bridge/wire"
	"brainbox/internal/strictjson"
)

// callAction is brainbox call: one call of any tool, its result on standard output.
func callAction(status *int) cli.ActionFunc {
	return func(c *cli.Context) error {
		tool := c.Args().Get(0)
		if tool != "" && !strictjson.ToolName(tool) {
			return refuse(quote(tool)+" is no name of a tool", "")
		}
		input, err := inputOf(c.Args().Get(1))
		if err != nil {
			return err
		}
		a, err := openBridge(c, 1, 2)
		if err != nil {
			return err
		}
		defer a.end()
		res, err := a.do(tool, input)
		if err != nil {
			return err
		}
		if res.Status != envelope.Succeeded {
			*status = statusNotDone
		}
		return a.print(res)
	}
}

// print writes a whole result as one line of JSON, or with --output what it brought.
func (a *asker) print(res *envelope.Result) error {
	w := a.cli.App.Writer
	v := res.Value()
	switch {
	case !a.cli.Bool("output"):
	case res.Status != envelope.Succeeded:
		a.fault(res)
		return nil
	case res.Output == nil:
		return nil
	case res.Output.Kind == strictjson.KindString && (w != os.Stdout || !isTerminal(1)):
		_, err := io.WriteString(w, res.Output.Text)
		return err
	default:
		v = *res.Output // as JSON: its escapes show what a terminal would act on
	}
	_, err := w.Write(strictjson.AppendLine(nil, &v))
	return err
}

// inputOf reads the input of a call: an argument, "-" for standard input, and {} for none.
func inputOf(arg string) (*strictjson.Value, error) {
	text := []byte(arg)
	switch arg {
	case "":
		text = []byte("{}")
	case "-":
		var err error
		if text, err = readAll(os.Stdin, wire.MaxFrame); err != nil {
			return nil, err
		}
	}
	v, err := strictjson.Decode(text, strictjson.Limits{})
	if err != nil {
		return nil, refuse("the input: "+err.Error(), "one JSON value, such as '{\"path\":\"README.md\"}', or - for standard input")
	}
	return v, nil
}

// readAll reads to the end, and refuses what is longer than most bytes.
func readAll(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, refuse("standard input: "+err.Error(), "")
	}
	if int64(len(text)) > most {
		return nil, refuse(fmt.Sprintf("standard input has more than %d bytes", most), "")
	}
	return text, nil
}
