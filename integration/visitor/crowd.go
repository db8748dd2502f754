package main

import (
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// abreast is how many connections of a flood are open at once.
const abreast = 64

// opFlood makes many connections and says how many of them were answered.
func opFlood(words []string) (string, error) {
	n, err := strconv.Atoi(words[1])
	if err != nil {
		return "", err
	}
	var left, answered atomic.Int64
	left.Store(int64(n))
	var all sync.WaitGroup
	for range abreast {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if c, err := begin(words[0], words[2]); err == nil {
					if got, _ := c.Read(make([]byte, 64)); got > 0 {
						answered.Add(1)
					}
					_ = c.Close()
				}
			}
		})
	}
	all.Wait()
	return strconv.FormatInt(answered.Load(), 10), nil
}

// kept are the connections that stay open until the program ends.
var kept []net.Conn

// opStall makes connections that say a little and then nothing.
func opStall(words []string) (string, error) {
	n, err := strconv.Atoi(words[1])
	if err != nil {
		return "", err
	}
	for range n {
		c, err := begin(words[0], words[2])
		if err != nil {
			return "", err
		}
		kept = append(kept, c)
	}
	return strconv.Itoa(len(kept)), nil
}

// begin connects and sends the first bytes.
func begin(address, words string) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	return c, send(c, words)
}
