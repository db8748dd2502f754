package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"brainbox/bridge/client"
	bridgeoperator "brainbox/bridge/operator"
	"brainbox/bridge/wire"
	"brainbox/gate/event"
	"brainbox/gate/prompt"
)

// act is what this program does inside, or as an operator.
func act(args []string) int {
	var err error
	switch {
	case len(args) == 4 && args[0] == "operator":
		err = operator(args[1], args[2], args[3])
	case len(args) == 2 && args[0] == "unix":
		err = echo("unix", args[1])
	case len(args) == 3 && args[0] == "get":
		err = get(args[1], args[2])
	case len(args) == 3 && args[0] == "noget":
		if get(args[1], args[2]) == nil {
			err = errors.New("reached what is not listed")
		}
	default:
		err = errors.New("unknown act")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "actor:", err)
		return 93
	}
	return 0
}

// echo sends a line and reads it back.
func echo(network, address string) error {
	conn, err := net.DialTimeout(network, address, time.Minute)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		return err
	}
	got := make([]byte, 6)
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "hello\n" {
		return fmt.Errorf("%q, %w", got, err)
	}
	return nil
}

// get asks a host by the proxy that the variables name.
func get(host, port string) error {
	proxy, err := url.Parse(os.Getenv("HTTP_PROXY"))
	if err != nil {
		return err
	}
	c := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}, Timeout: time.Minute}
	res, err := c.Get("http://" + net.JoinHostPort(host, port) + "/")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || string(text) != originText {
		return fmt.Errorf("%d %.100q, %w", res.StatusCode, text, err)
	}
	return nil
}

const originText = "the origin\n"

// operator connects to ui.sock and answers each prompt in one way, until the end.
func operator(how, socket, key string) error {
	ctx := context.Background()
	ui, err := client.OpenUI(ctx, socket, key)
	if err != nil {
		return err
	}
	defer ui.Close()
	since := uint64(0)
	if _, err := ui.Subscribe(ctx, []string{string(event.TopicUIPrompt), string(event.TopicPromptClosed)}, &since); err != nil {
		return err
	}
	for {
		e, err := ui.Next(ctx)
		if err != nil {
			return nil //nolint:nilerr // the session is over
		}
		if e.Topic != string(event.TopicUIPrompt) {
			continue
		}
		switch how {
		case "hangup":
			return nil
		case "wait":
			continue
		}
		answerAll(ctx, ui, how)
	}
}

// answerAll answers what is asked now. A prompt that has closed meanwhile is no fault.
func answerAll(ctx context.Context, ui *client.UI, how string) {
	prompts, err := ui.Prompts(ctx)
	if err != nil {
		return
	}
	for i := range prompts {
		v, err := bridgeoperator.View(&prompts[i])
		if err != nil {
			continue
		}
		a := prompt.Answer{ID: v.ID, Digest: v.Digest, Decision: prompt.Deny}
		if how != "deny" {
			a.Decision = prompt.Approve
		}
		if how == "session" && v.Grant != "" {
			a.Scope = prompt.Scope{Lasts: prompt.ForRun}
		}
		r := bridgeoperator.Reply(v, a)
		if err := ui.Answer(ctx, r); err != nil {
			var known *wire.Error
			if !errors.As(err, &known) {
				return
			}
		}
	}
}
