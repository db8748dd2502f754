package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"brainbox/bridge/envelope"
	"brainbox/internal/strictjson"
)

// Bounds of what is written, in bytes. A piece and its frame stay below 1 MiB, in base64
// too, and with every character escaped that JSON escapes.
const (
	mostWritten = 16 << 20
	pieceBytes  = 512 << 10
)

// writeAction is brainbox write: standard input becomes a file.
func writeAction(status *int) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.Bool("append") && c.Bool("create") || c.Bool("create") && c.String("base") != "" {
			return refuse("--create goes with neither --append nor --base", "")
		}
		return onePath(c, 1, status, func(a *asker, at *rooted) (*envelope.Result, error) {
			data, err := readAll(os.Stdin, mostWritten)
			if err != nil {
				return nil, err
			}
			return a.write(at, data)
		})
	}
}

// write makes a file or replaces it, as a redirection of a shell does, unless it was told
// which. What there is, it looks for here; where that is not what the host has, it asks
// for the other one once.
func (a *asker) write(at *rooted, data []byte) (*envelope.Result, error) {
	mode, other := "create", "replace"
	switch {
	case a.cli.Bool("append"):
		mode, other = "append", ""
	case a.cli.Bool("create"):
		other = ""
	case a.cli.String("base") != "":
		mode, other = "replace", ""
	case at.abs != "":
		if _, err := os.Lstat(at.abs); err == nil {
			mode, other = "replace", "create"
		}
	}
	res, err := a.pieces(at, mode, data)
	if err != nil || other == "" || res.Err == nil || res.Status != envelope.Failed {
		return res, err
	}
	if code := res.Err.Code; (code == "exists" || code == "stale_base") && other == "replace" || code == "not_found" && other == "create" {
		return a.pieces(at, other, data)
	}
	return res, nil
}

// pieces sends a file in as many calls as it needs. Only the last one has an effect, and is
// decided.
func (a *asker) pieces(at *rooted, mode string, data []byte) (*envelope.Result, error) {
	sum := sha256.Sum256(data)
	for start := 0; ; start += pieceBytes {
		end := min(start+pieceBytes, len(data))
		input := strictjson.Object()
		at.add(&input, "path")
		input.Add("mode", strictjson.Text(mode))
		addData(&input, data[start:end])
		if len(data) > pieceBytes {
			input.Add("chunk", strictjson.Object(
				strictjson.Pair("offset", strictjson.Int(int64(start))), strictjson.Pair("total", strictjson.Int(int64(len(data)))),
				strictjson.Pair("sha256", strictjson.Text(hex.EncodeToString(sum[:])))))
		}
		if err := hash(a.cli, &input, "expected_sha256"); err != nil {
			return nil, err
		}
		res, err := a.do("fs.write", &input)
		if err != nil || res.Status != envelope.Succeeded || end == len(data) {
			return res, err
		}
	}
}

// addData adds text as itself where that is short enough, and anything else in base64.
func addData(v *strictjson.Value, data []byte) {
	if utf8.Valid(data) {
		text := strictjson.Text(string(data))
		if len(strictjson.Append(nil, &text)) <= 2*pieceBytes-64<<10 {
			v.Add("data", text)
			return
		}
	}
	v.Add("data", strictjson.Text(base64.StdEncoding.EncodeToString(data)))
	v.Add("encoding", strictjson.Text("base64"))
}

// editAction is brainbox edit: one text in a file becomes another.
func editAction(status *int) cli.ActionFunc {
	return func(c *cli.Context) error {
		return onePath(c, 3, status, func(a *asker, at *rooted) (*envelope.Result, error) {
			texts := []string{c.Args().Get(1), c.Args().Get(2)}
			for i := range texts {
				if !c.Bool("files") {
					continue
				}
				b, err := os.ReadFile(texts[i])
				if err != nil {
					return nil, err
				}
				texts[i] = string(b)
			}
			if !utf8.ValidString(texts[0]) || !utf8.ValidString(texts[1]) {
				return nil, refuse("the texts are not UTF-8", "to write other bytes: brainbox write")
			}
			return a.edit(at, texts[0], texts[1])
		})
	}
}

// edit names the content that the edit is for: --base, or what the file has now. Where it
// can be read here, the host need not be asked for that.
func (a *asker) edit(at *rooted, old, with string) (*envelope.Result, error) {
	input := strictjson.Object()
	at.add(&input, "path")
	input.Add("old_string", strictjson.Text(old))
	input.Add("new_string", strictjson.Text(with))
	if err := hash(a.cli, &input, "base"); err != nil {
		return nil, err
	}
	if input.Get("base") == nil {
		if sum := sumOf(at.abs); sum != "" {
			input.Add("base", strictjson.Text(sum))
		}
	}
	if input.Get("base") == nil {
		read := strictjson.Object()
		at.add(&read, "path")
		read.Add("limit", strictjson.Int(1))
		read.Add("encoding", strictjson.Text("base64"))
		res, err := a.do("read_file", &read)
		if err != nil || res.Status != envelope.Succeeded {
			return res, err
		}
		var base *strictjson.Value
		if res.Output != nil {
			base = res.Output.Get("sha256")
		}
		if base == nil {
			return nil, refuse("the host does not say what the file holds", "name it: --base HASH")
		}
		input.Add("base", *base)
	}
	return a.do("edit_file", &input)
}

// sumOf is the SHA-256 of a file that is seen here, empty if it is not, or is no file.
func sumOf(abs string) string {
	if st, err := os.Lstat(abs); err != nil || !st.Mode().IsRegular() || st.Size() > mostWritten {
		return ""
	}
	data, err := os.ReadFile(abs)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// maskAction is brainbox mask. The tool knows one root, the first.
func maskAction(status *int) cli.ActionFunc {
	return func(c *cli.Context) error {
		return onePath(c, 1, status, func(a *asker, at *rooted) (*envelope.Result, error) {
			if roots := a.c.Roots(); len(roots) > 0 && at.root != roots[0].Name {
				return nil, refuse("a mask is for images in the root "+quote(roots[0].Name), "")
			}
			input := strictjson.Object(strictjson.Pair("imagePath", strictjson.Text(at.rel)))
			if text := c.String("instruction"); text != "" {
				input.Add("instruction", strictjson.Text(text))
			}
			return a.do("request_image_mask", &input)
		})
	}
}

// removeAction is brainbox rm.
func removeAction(status *int) cli.ActionFunc {
	return func(c *cli.Context) error {
		return onePath(c, 1, status, func(a *asker, at *rooted) (*envelope.Result, error) {
			input := strictjson.Object()
			at.add(&input, "path")
			if c.Bool("recursive") {
				input.Add("recursive", strictjson.Bool(true))
			}
			if err := hash(c, &input, "base"); err != nil {
				return nil, err
			}
			return a.do("remove", &input)
		})
	}
}

// onePath is a verb of so many arguments, the first of which is a path.
func onePath(c *cli.Context, args int, status *int, ask func(*asker, *rooted) (*envelope.Result, error)) error {
	a, err := openBridge(c, args, args)
	if err != nil {
		return err
	}
	defer a.end()
	at, err := a.root.find(c.Args().First())
	if err != nil {
		return err
	}
	res, err := ask(a, &at)
	if err != nil {
		return err
	}
	a.tell(res, status)
	return nil
}

// renameAction is brainbox mv.
func renameAction(status *int) cli.ActionFunc {
	return func(c *cli.Context) error {
		a, err := openBridge(c, 2, 2)
		if err != nil {
			return err
		}
		defer a.end()
		from, err := a.root.find(c.Args().Get(0))
		if err != nil {
			return err
		}
		to, err := a.root.find(c.Args().Get(1))
		if err != nil {
			return err
		}
		if from.root != to.root {
			return refuse("the two names are in different roots", "brainbox write the file there, and brainbox rm it here")
		}
		input := strictjson.Object()
		from.add(&input, "from")
		to.add(&input, "to")
		if c.Bool("replace") {
			input.Add("replace", strictjson.Bool(true))
		}
		res, err := a.do("rename", &input)
		if err != nil {
			return err
		}
		a.tell(res, status)
		return nil
	}
}
