package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// patience is how long a condition may take on a slow machine.
const patience = 20 * time.Second

// served is a command of the scripts: it runs its arguments while it serves, on loopback, an
// echo at @PORT and a DNS server @DNS that has 127.0.0.1 for every name, and writes each name
// that it is asked for to the file asked. @FREE is a port that nobody listens on, and @BIN the
// folder of the scripts' commands.
func served() {
	err := serve(os.Args[1:])
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		os.Exit(ended.ExitCode())
	}
	exitOn(err)
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
}

func serve(args []string) error {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go echoAll(echo)
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	asked, err := os.Create("asked")
	if err != nil {
		return err
	}
	go answerAll(udp, asked)
	free, err := freePort()
	if err != nil {
		return err
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	port := func(a net.Addr) string { return fmt.Sprint(netip.MustParseAddrPort(a.String()).Port()) }
	places := strings.NewReplacer("@PORT", port(echo.Addr()), "@DNS", udp.LocalAddr().String(), "@FREE", free, "@BIN", filepath.Dir(own))
	for i := range args {
		args[i] = places.Replace(args[i])
	}
	c := exec.Command(args[0], args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if status, err := os.Create("status"); err == nil {
		c.ExtraFiles = []*os.File{status} // descriptor 3
	}
	return c.Run()
}

// freePort is one that nobody has at either loopback, and that the kernel gives nobody by
// itself meanwhile: those begin at 32768 (ip_local_port_range, ip(7)).
func freePort() (string, error) {
	for range 1000 {
		port := strconv.Itoa(20_000 + rand.IntN(10_000))
		four, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		six, err := net.Listen("tcp", "[::1]:"+port)
		_ = four.Close()
		if err == nil {
			_ = six.Close()
		}
		if !errors.Is(err, unix.EADDRINUSE) { // or there is no IPv6 here
			return port, nil
		}
	}
	return "", errors.New("no port is free")
}

func echoAll(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}()
	}
}

func answerAll(udp net.PacketConn, asked io.Writer) {
	buf := make([]byte, 4096)
	for {
		n, from, err := udp.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		fmt.Fprintln(asked, q.Name)
		m.Response, m.Additionals = true, nil
		if q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
			}}
		}
		if out, err := m.Pack(); err == nil {
			_, _ = udp.WriteTo(out, from)
		}
	}
}

// reacher is the command "reach" of the scripts, for inside:
//
//	reach direct HOST:PORT TEXT    connects by name, and prints the echo
//	reach connect HOST:PORT TEXT   the same through $HTTPS_PROXY
//	reach twice HOST:PORT TEXT     "direct", and once more when a line is read from standard input
//	reach listen PORT              echoes one connection, after it has printed "listening"
//
// and for outside
//
//	reach visit PORT TEXT COMMAND…   runs COMMAND, connects when it prints "listening", and prints the echo
//	reach orphan COMMAND…             runs COMMAND, ends its brainbox-host at the first line that it prints, and gives it one
func reacher() {
	a := os.Args
	switch a[1] {
	case "direct":
		c, err := net.DialTimeout("tcp", a[2], patience)
		exitOn(err)
		exitOn(exchange(c, c, a[3]))
	case "connect":
		c, err := net.DialTimeout("tcp", strings.TrimPrefix(os.Getenv("HTTPS_PROXY"), "http://"), patience)
		exitOn(err)
		_, err = fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", a[2])
		exitOn(err)
		r := bufio.NewReader(c)
		for line := "HTTP"; strings.TrimSpace(line) != ""; {
			line, err = r.ReadString('\n')
			exitOn(err)
			if strings.HasPrefix(line, "HTTP/") && !strings.Contains(line, " 200 ") {
				exitOn(errors.New(strings.TrimSpace(line)))
			}
		}
		exitOn(exchange(c, r, a[3]))
	case "twice":
		c, err := net.DialTimeout("tcp", a[2], patience)
		exitOn(err)
		exitOn(exchange(c, c, a[3]))
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		c, err = net.DialTimeout("tcp", a[2], patience)
		if err == nil {
			err = exchange(c, c, a[3]+" again")
		}
		fmt.Println("second:", err)
	case "orphan":
		exitOn(orphan(a[2:]))
	case "listen":
		l, err := net.Listen("tcp", "127.0.0.1:"+a[2])
		exitOn(err)
		fmt.Println("listening")
		c, err := l.Accept()
		exitOn(err)
		_, err = io.Copy(c, c)
		exitOn(errors.Join(err, c.Close()))
	case "visit":
		exitOn(visit(a[2], a[3], a[4:]))
	}
}

// exchange sends a text, and prints what comes back.
func exchange(c net.Conn, r io.Reader, text string) error {
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(r, got); err != nil {
		return err
	}
	fmt.Printf("%s\n", got)
	return c.Close()
}

func visit(port, text string, args []string) error {
	c := exec.Command(args[0], args[1:]...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "listening\n" {
		return errors.Join(fmt.Errorf("%q in place of listening", line), err, c.Wait())
	}
	conn, err := net.DialTimeout("tcp", "127.0.0.1:"+port, patience)
	if err != nil {
		return errors.Join(err, c.Process.Kill(), c.Wait())
	}
	return errors.Join(exchange(conn, conn, text), c.Wait())
}

// orphan ends the brainbox-host of a command.
func orphan(args []string) error {
	c := exec.Command(args[0], args[1:]...)
	c.Stderr = os.Stderr
	in, err1 := c.StdinPipe()
	out, err2 := c.StdoutPipe()
	own, err3 := os.Create("own")
	c.ExtraFiles = []*os.File{own} // open in brainbox, and nobody else's
	if err := errors.Join(err1, err2, err3, c.Start()); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	if err != nil {
		return errors.Join(err, c.Wait())
	}
	if err := endHost(c.Process.Pid); err != nil {
		return errors.Join(err, c.Process.Kill(), c.Wait())
	}
	_, err = io.WriteString(in, "\n")
	rest, err2 := io.ReadAll(lines)
	fmt.Printf("%s%s", first, rest)
	return errors.Join(err, err2, c.Wait())
}

// endHost kills the one child of a process that is a brainbox-host, and waits for its end.
func endHost(parent int) error {
	list, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil {
		return err
	}
	for _, name := range list {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // a thread that has ended
		}
		for _, pid := range strings.Fields(string(text)) {
			line, err := os.ReadFile("/proc/" + pid + "/cmdline")
			if err != nil || !strings.HasPrefix(string(line), "brainbox-host\x00proxy\x00") {
				continue
			}
			n, err := strconv.Atoi(pid)
			if err != nil {
				return err
			}
			return errors.Join(holdsNot(pid, "own"), endAndWait(n))
		}
	}
	return fmt.Errorf("no brainbox-host below process %d", parent)
}

// holdsNot is an error if a process has a file open. Only root can tell: it is undumpable.
func holdsNot(pid, base string) error {
	list, err := os.ReadDir("/proc/" + pid + "/fd")
	if os.Geteuid() != 0 && errors.Is(err, os.ErrPermission) {
		return nil
	}
	if err != nil || len(list) < 5 {
		return fmt.Errorf("the descriptors of process %s: %v, %w", pid, list, err)
	}
	for _, e := range list {
		if to, err := os.Readlink("/proc/" + pid + "/fd/" + e.Name()); err == nil && filepath.Base(to) == base {
			return fmt.Errorf("process %s has descriptor %s of its caller's", pid, e.Name())
		}
	}
	return nil
}

func endAndWait(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil {
		return err
	}
	if !waitEnd(fd, patience) {
		return fmt.Errorf("process %d does not end", pid)
	}
	return nil
}
