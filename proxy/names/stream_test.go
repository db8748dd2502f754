package names

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// framed is a message as it goes by TCP.
func framed(msg []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(msg))), msg...)
}

func dialTCP(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, generous)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(generous)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

func send(t *testing.T, conn io.Writer, b []byte) {
	if _, err := conn.Write(b); err != nil {
		t.Error(err)
	}
}

// next reads one answer by TCP.
func next(t *testing.T, conn io.Reader) *dnsmessage.Message {
	t.Helper()
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		t.Fatal(err)
	}
	msg := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(conn, msg); err != nil {
		t.Fatal(err)
	}
	return unpack(t, msg)
}

func TestManyQuestionsByOneConnection(t *testing.T) {
	_, _, tcp, _ := served(t, nil)
	conn := dialTCP(t, tcp)
	const many = 200
	var all []byte
	for i := range many {
		all = append(all, framed(query(t, fmt.Sprintf("n%d.wild.test.", i), dnsmessage.TypeA))...)
		all = append(all, framed(query(t, fmt.Sprintf("n%d.denied.test.", i), dnsmessage.TypeA))...)
	}
	go send(t, conn, all)
	for i := range many {
		yes, no := next(t, conn), next(t, conn)
		if got := addrs(yes); len(got) != 1 || got[0] != address(v4, i) {
			t.Fatalf("answer %d is %v", i, got)
		}
		if no.RCode != dnsmessage.RCodeNameError {
			t.Fatalf("answer %d is %v", i, no.RCode)
		}
	}
}

// What is no question by TCP ends the connection: nothing after it can be told apart.
func TestStreamsThatAreNoQuestions(t *testing.T) {
	_, _, tcp, _ := served(t, nil)
	for name, bytes := range map[string][]byte{
		"a length over the limit": {0xff, 0xff, 0, 0},
		"a length of zero":        {0, 0},
		"an answer":               framed(pack(t, func(m *dnsmessage.Message) { m.Response = true })),
	} {
		conn := dialTCP(t, tcp)
		send(t, conn, bytes)
		if got, err := io.ReadAll(conn); len(got) != 0 || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %x, %v; want the end", name, got, err)
		}
	}
	conn := dialTCP(t, tcp)
	send(t, conn, framed(query(t, "ok.test.", dnsmessage.TypeA)))
	next(t, conn)
}

// Clients that say nothing hold their own places: by UDP answers go on, and by TCP when one of
// them has gone.
func TestSlowClientsAreBounded(t *testing.T) {
	_, udp, tcp, _ := served(t, func(c *Config) { c.Limits.Clients = 4 })
	var slow []*net.TCPConn
	for range 4 {
		conn := dialTCP(t, tcp)
		send(t, conn, framed(query(t, "ok.test.", dnsmessage.TypeA)))
		next(t, conn) // it has its place
		send(t, conn, []byte{0})
		slow = append(slow, conn)
	}
	late := dialTCP(t, tcp)
	send(t, late, framed(query(t, "ok.test.", dnsmessage.TypeA)))
	if _, err := resolver("udp", udp).LookupNetIP(t.Context(), "ip4", "ok.test."); err != nil {
		t.Errorf("by UDP meanwhile: %v", err)
	}
	slow[2].Close()
	if m := next(t, late); m.RCode != dnsmessage.RCodeSuccess {
		t.Errorf("the one that waited: %v", m.RCode)
	}
}
