package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// originName leads to the origin, for whoever asks the DNS server of the world.
const originName = "origin.test"

// world is what a program with a network by name is measured against: an origin on loopback
// and a DNS server, in this process.
type world struct {
	origin net.Listener
	dns    net.PacketConn
}

func newWorld() (*world, error) {
	origin, err1 := net.Listen("tcp4", "127.0.0.1:0")
	dns, err2 := net.ListenPacket("udp4", "127.0.0.1:0")
	w := &world{origin, dns}
	if err := errors.Join(err1, err2); err != nil {
		return w, errors.Join(err, w.close())
	}
	go w.serve()
	go w.lookUp()
	return w, nil
}

func (w *world) close() error {
	var errs []error
	if w.origin != nil {
		errs = append(errs, w.origin.Close())
	}
	if w.dns != nil {
		errs = append(errs, w.dns.Close())
	}
	return errors.Join(errs...)
}

// literal and named are the origin as a program asks for it.
func (w *world) literal() string { return w.origin.Addr().String() }

func (w *world) named() string {
	return originName + w.literal()[strings.LastIndexByte(w.literal(), ':'):]
}

// serve sends as many bytes as are asked for.
func (w *world) serve() {
	chunk := make([]byte, 256<<10)
	for {
		conn, err := w.origin.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			var asked [8]byte
			for {
				if _, err := io.ReadFull(conn, asked[:]); err != nil {
					return
				}
				for left := binary.BigEndian.Uint64(asked[:]); left > 0; {
					n, err := conn.Write(chunk[:min(left, uint64(len(chunk)))])
					if err != nil {
						return
					}
					left -= uint64(n)
				}
			}
		}()
	}
}

// lookUp answers every name with the address of loopback, and none of IPv6.
func (w *world) lookUp() {
	buf := make([]byte, 1<<10)
	for {
		n, from, err := w.dns.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		answer := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			answer.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60},
				Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
			}}
		}
		text, err := answer.Pack()
		if err != nil {
			continue
		}
		_, _ = w.dns.WriteTo(text, from)
	}
}

// clientText is P without the host's /etc, so that what leads to the resolver is there, and
// with the origin as all that is reached, by name and by address.
func (o *options) clientText(w *world) string {
	return strings.Replace(o.startText(w), `read = ["/etc"]`, "read = []", 1)
}

// startText is P itself with that network.
func (o *options) startText(w *world) string {
	return strings.Replace(policyText(o.work, "", "", `isolation = "namespaces"`), `mode = "none"`,
		fmt.Sprintf("mode = \"proxy\"\nallow_hosts = [%q, %q]\nresolver = %q", w.named(), w.literal(), w.dns.LocalAddr()), 1)
}

// netclient is a program that makes connections, and brainbox-host, if it is confined.
type netclient struct {
	*pipe
	host int
}

// bareClient is not confined. Its proxy is one that decides nothing.
func (o *options) bareClient(env []string) (client *netclient, proxy *pipe, err error) {
	name := filepath.Join(o.bin, "netclient")
	if proxy, err = newPipe(env, name, "proxy"); err != nil {
		return nil, nil, err
	}
	at, err := proxy.out.ReadString('\n')
	if err != nil {
		return nil, nil, err
	}
	p, err := newPipe(append(slices.Clip(env), "HTTP_PROXY=http://"+strings.TrimSpace(at)), name)
	return &netclient{pipe: p}, proxy, err
}

// confinedClient is one behind the proxy.
func (o *options) confinedClient(env []string, policy string) (*netclient, error) {
	p, err := newPipe(env, filepath.Join(o.bin, "brainbox"), "run", "-q", "--policy", policy, "--rox", o.bin, "--", filepath.Join(o.bin, "netclient"))
	if err != nil {
		return nil, err
	}
	c := &netclient{pipe: p}
	if _, err := c.do("drop"); err != nil { // it runs
		return nil, err
	}
	c.host, err = hostOf(p.cmd.Process.Pid)
	return c, err
}

// do has one request answered, in milliseconds.
func (c *netclient) do(words ...any) (sample, error) {
	request := strings.TrimSuffix(fmt.Sprintln(words...), "\n")
	line, err := c.ask(request)
	if err != nil {
		return sample{}, fmt.Errorf("%s: netclient: %w", request, err)
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return sample{}, fmt.Errorf("%s: netclient: %s", request, line)
	}
	return sample{ms: float64(ns) / float64(time.Millisecond)}, nil
}

// resident is how much of brainbox-host is in memory, in KiB (VmRSS, proc_pid_status(5)).
func (c *netclient) resident() (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.host))
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(text), "\nVmRSS:")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0, fmt.Errorf("no VmRSS in the status of %d", c.host)
	}
	return strconv.Atoi(fields[0])
}

// hostOf finds the brainbox-host that serves the network of a brainbox run.
func hostOf(brainbox int) (int, error) {
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		line, err := os.ReadFile(name)
		if err != nil || !bytes.HasPrefix(line, []byte("brainbox-host\x00proxy\x00")) {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(name, "/")[2])
		if err != nil {
			return 0, err
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		after := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // proc_pid_stat(5): state, ppid
		if len(after) > 1 && after[1] == strconv.Itoa(brainbox) {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("brainbox %d has no brainbox-host", brainbox)
}
