package client

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// The variables that a sandbox is given (docs/interfaces.md, "Always there").
const (
	EnvSocket  = "BRAINBOX_SOCKET"
	EnvFD      = "BRAINBOX_BRIDGE_FD"
	EnvSession = "BRAINBOX_SESSION"
)

// ErrNone says that there is no bridge here: no variable names one.
var ErrNone = errors.New("no bridge: neither " + EnvSocket + " nor " + EnvFD + " is set")

// Options says where the bridge is. The zero value reads the environment.
type Options struct {
	// Socket is the path of agent.sock. It goes before FD.
	Socket string
	// FD is an inherited, connected stream socket, used when it is over 2. It is closed
	// with the client.
	FD int
	// Session is what requests name; empty: what the host says at hello.
	Session string
	// Name is who calls, for the host's log; empty: "brainbox".
	Name string
	// Wait bounds the connect, the wait for an FD that another process uses, and hello;
	// 0: 5 seconds.
	Wait time.Duration
}

const defaultWait = 5 * time.Second

// FromEnv reads the variables. The error is [ErrNone], or says which one is wrong.
func FromEnv(getenv func(string) string) (Options, error) {
	o := Options{Socket: getenv(EnvSocket), Session: getenv(EnvSession)}
	if o.Socket != "" {
		return o, nil
	}
	text := getenv(EnvFD)
	if text == "" {
		return o, ErrNone
	}
	fd, err := strconv.Atoi(text)
	if err != nil || fd < 3 || fd > 1<<20 || strconv.Itoa(fd) != text {
		return o, fmt.Errorf("%s is %q, which is no descriptor over 2", EnvFD, text)
	}
	o.FD = fd
	return o, nil
}

// filled reads the environment where the options name no bridge.
func (o Options) filled() (Options, error) {
	if o.Socket == "" && o.FD <= 2 {
		found, err := FromEnv(os.Getenv)
		if err != nil {
			return o, err
		}
		o.Socket, o.FD = found.Socket, found.FD
		if o.Session == "" {
			o.Session = found.Session
		}
	}
	if o.Name == "" {
		o.Name = "brainbox"
	}
	if o.Wait <= 0 {
		o.Wait = defaultWait
	}
	return o, nil
}
