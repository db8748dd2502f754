package proxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
)

// Bytes of RFC 1928.
const (
	socksVersion = 5

	socksNoAuth   = 0x00
	socksNoMethod = 0xff

	socksConnect = 1

	socksIPv4 = 1
	socksName = 3
	socksIPv6 = 4

	socksOK          = 0x00
	socksFailed      = 0x01
	socksNotAllowed  = 0x02
	socksUnreachable = 0x04
	socksRefused     = 0x05
	socksNoCommand   = 0x07
	socksNoAddress   = 0x08
)

// errSocksMethod says that the client has no way of authentication that is done here.
var errSocksMethod = errors.New("the client does not offer to go without authentication")

// socksError is a request that is answered with this reply and no more.
type socksError byte

func (e socksError) Error() string {
	switch e {
	case socksNoCommand:
		return "the one command is CONNECT"
	case socksNoAddress:
		return "unknown type of address"
	default:
		return "malformed request"
	}
}

// readGreeting reads the methods, after the version (RFC 1928, section 3).
func readGreeting(r io.Reader) error {
	var n [1]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return err
	}
	methods := make([]byte, n[0])
	if _, err := io.ReadFull(r, methods); err != nil {
		return err
	}
	if bytes.IndexByte(methods, socksNoAuth) < 0 {
		return errSocksMethod
	}
	return nil
}

// readSocks reads one request to its last byte and not further, so that nothing of a
// tunnel is lost. The host is as the client wrote it: package allow judges its bytes.
// Errors are socksError, or the reader's.
func readSocks(r io.Reader) (host string, port uint16, err error) {
	var b [4]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return "", 0, err
	}
	version, command, reserved, kind := b[0], b[1], b[2], b[3]
	if version != socksVersion || reserved != 0 {
		return "", 0, socksError(socksFailed)
	}
	if host, err = readSocksHost(r, kind); err != nil {
		return "", 0, err
	}
	if _, err := io.ReadFull(r, b[:2]); err != nil {
		return "", 0, err
	}
	port = binary.BigEndian.Uint16(b[:2])
	switch {
	case command != socksConnect:
		return "", 0, socksError(socksNoCommand)
	case host == "" || port == 0:
		return "", 0, socksError(socksFailed)
	}
	return host, port, nil
}

func readSocksHost(r io.Reader, kind byte) (string, error) {
	var buf [256]byte
	var n int
	switch kind {
	case socksIPv4:
		n = 4
	case socksIPv6:
		n = 16
	case socksName:
		if _, err := io.ReadFull(r, buf[:1]); err != nil {
			return "", err
		}
		n = int(buf[0])
	default:
		return "", socksError(socksNoAddress)
	}
	if _, err := io.ReadFull(r, buf[:n]); err != nil {
		return "", err
	}
	if kind == socksName {
		return string(buf[:n]), nil
	}
	addr, _ := netip.AddrFromSlice(buf[:n])
	return addr.String(), nil
}
