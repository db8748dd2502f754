package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"brainbox/bridge/client"
	"brainbox/bridge/operator"
	"brainbox/gate/prompt"
	"brainbox/gate/tty"
	"brainbox/internal/hold"
	"brainbox/internal/strictjson"
	"brainbox/internal/visible"
)

// approveAction is brainbox approve.
func approveAction(c *cli.Context) error {
	if c.NArg() > 0 {
		return refuse("approve takes no arguments", "brainbox approve --help")
	}
	modes := 0
	for _, asked := range []bool{c.Bool("list"), c.Bool("grants"), c.String("deny") != "", c.String("revoke") != "", c.String("hold") != ""} {
		if asked {
			modes++
		}
	}
	if modes > 1 {
		return refuse("--list, --deny, --grants and --revoke are done one at a time", "")
	}
	ui, err := terminalUI(c, modes == 0 || c.String("hold") != "")
	if err != nil {
		return err
	}
	ctx, stop := interrupted()
	defer stop()
	if c.String("hold") != "" { // ^C is the program's, whose run ends this
		stop()
		signal.Ignore(syscall.SIGINT, syscall.SIGQUIT)
		ctx = context.Background()
	}
	conn, err := openSession(ctx, c)
	if err != nil {
		return err
	}
	defer conn.Close()
	w := c.App.Writer
	switch {
	case c.Bool("list"):
		return listPrompts(ctx, conn, w, c.Bool("json"))
	case c.Bool("grants"):
		return listGrants(ctx, conn, w, c.Bool("json"))
	case c.String("deny") != "":
		return deny(ctx, conn, c.String("deny"))
	case c.String("revoke") != "":
		return revoke(ctx, conn, c.String("revoke"))
	}
	if c.String("hold") == "" {
		printf(c.App.ErrWriter, "brainbox: waiting for what session %s asks; ^C ends this, not the session\n", oneLine(conn.Session()))
	}
	return ended(operator.Serve(ctx, conn, ui, func(id string, err error) {
		printf(c.App.ErrWriter, "brainbox: %s: %s\n", oneLine(id), oneLine(err.Error()))
	}))
}

// terminalUI asks on the controlling terminal; nil where nothing is to be asked.
func terminalUI(c *cli.Context, asks bool) (*tty.TTY, error) {
	if !asks {
		return nil, nil //nolint:nilnil // nobody is asked
	}
	o := tty.Options{Dumb: os.Getenv("TERM") == "dumb"}
	if text := c.String("hold"); text != "" {
		fd, err := strconv.Atoi(text)
		if err != nil || fd < 3 {
			return nil, refuse("--hold "+quote(text)+": no descriptor", "")
		}
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, refuse("--hold "+text+": "+err.Error(), "")
		}
		o.Program = hold.NewClient(os.NewFile(uintptr(fd), "hold"), nil)
	}
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, refuse("there is no terminal to ask on: "+err.Error(), "brainbox approve --list prints what is asked, --deny ID denies it")
	}
	return tty.New(o), f.Close()
}

// listPrompts prints what is asked, with every fact.
func listPrompts(ctx context.Context, conn *client.UI, w io.Writer, asJSON bool) error {
	list, err := conn.Prompts(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		if asJSON {
			if _, err := w.Write(strictjson.AppendLine(nil, &list[i])); err != nil {
				return err
			}
			continue
		}
		v, err := operator.View(&list[i])
		if errors.Is(err, operator.ErrCut) {
			if whole, err2 := conn.Prompt(ctx, v.ID); err2 == nil && whole != nil {
				v, err = operator.View(whole)
			}
		}
		if err != nil && !errors.Is(err, operator.ErrCut) {
			return err
		}
		lines := append([]string{visible.Line(v.ID)}, v.Lines(80, true)...)
		if err != nil {
			lines = append(lines, " warn| "+err.Error())
		}
		if _, err := fmt.Fprintln(w, strings.Join(lines, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// deny denies one prompt, whatever it shows.
func deny(ctx context.Context, conn *client.UI, id string) error {
	p, err := conn.Prompt(ctx, id)
	if err != nil {
		return err
	}
	if p == nil {
		return refuse("nothing is asked under "+quote(id), "brainbox approve --list prints what is")
	}
	v, err := operator.View(p)
	if err != nil && !errors.Is(err, operator.ErrCut) {
		return err
	}
	reply := operator.Reply(v, prompt.Answer{})
	reply.Digest = hex.EncodeToString(v.Digest[:])
	return conn.Answer(ctx, reply)
}

// listGrants prints what was approved for longer than once.
func listGrants(ctx context.Context, conn *client.UI, w io.Writer, asJSON bool) error {
	list, err := conn.Grants(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		line := grantLine(&list[i])
		if asJSON {
			line = string(strictjson.Append(nil, &list[i]))
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// grantLine is an approval for people.
func grantLine(v *strictjson.Value) string {
	text := func(key string) string {
		if m := v.Get(key); m != nil && (m.Kind == strictjson.KindString || m.Kind == strictjson.KindNumber) {
			return oneLine(m.Text)
		}
		return ""
	}
	yes := func(key string) bool { m := v.Get(key); return m != nil && m.Bool }
	line := text("id") + "  " + text("surface") + " " + text("pattern")
	if yes("exact") {
		line += " (this text only)"
	}
	if row := text("row"); row != "" {
		line += ", write protection: " + row
	}
	if left := text("leftMs"); left != "" {
		line += ", " + left + " ms left"
	}
	switch agent := text("agentName"); {
	case yes("wholeSession"):
		line += ", for every agent"
	case agent != "":
		line += ", for " + agent
	}
	if yes("once") {
		line += ", once"
	}
	return line
}

func revoke(ctx context.Context, conn *client.UI, id string) error {
	was, err := conn.Revoke(ctx, id)
	if err != nil {
		return err
	}
	if !was {
		return refuse("there is no approval "+quote(id), "brainbox approve --grants prints those there are")
	}
	return nil
}
