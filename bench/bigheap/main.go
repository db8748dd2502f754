package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"brainbox/launcher"
	"brainbox/policy"
)

func main() {
	if err := serve(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "bigheap:", err)
		os.Exit(1)
	}
}

func serve(dir, size, folder string) error {
	mib, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	heap := make([][]byte, mib)
	for i := range heap {
		heap[i] = make([]byte, 1<<20)
		for at := 0; at < len(heap[i]); at += os.Getpagesize() {
			heap[i][at] = 1 // the page is there only once it is written
		}
	}
	defer runtime.KeepAlive(heap)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	host, err := launcher.NewHost(launcher.HostOptions{Dir: dir})
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		before := time.Now()
		if err := start(host, folder, int(null.Fd())); err != nil {
			return err
		}
		if _, err := fmt.Println(time.Since(before).Nanoseconds()); err != nil {
			return err
		}
	}
	return host.Close()
}

// start runs /bin/true to its end.
func start(host *launcher.Host, folder string, null int) error {
	place, err := launcher.Look(os.Environ())
	if err != nil {
		return err
	}
	place.Cwd = folder
	flags := policy.NewFlagLayer()
	if err := flags.AddGrant("--rw", folder, policy.RightWrite); err != nil {
		return err
	}
	layers, err := policy.Layers("minimal", nil, flags)
	if err != nil {
		return err
	}
	p, err := policy.Resolve(policy.Input{Vars: place.Vars()}, layers...)
	if err != nil {
		return err
	}
	// Untried: a trial of namespaces is a fork of this process, which is what a Host spares it.
	facts, err := launcher.Observe(p, place, launcher.Request{Command: []string{"/bin/true"}, Untried: true})
	if err != nil {
		return err
	}
	defer facts.Close()
	s, err := host.Start(launcher.NewPlan(p, facts), facts, launcher.Options{Stdio: [3]int{null, null, null}})
	if err != nil {
		return err
	}
	res, err := s.Wait()
	if err == nil && res.Status != 0 {
		err = fmt.Errorf("status %d", res.Status)
	}
	return err
}
