package main

import (
	"io"

	"brainbox/internal/hostask"
	"brainbox/launcher"
)

// serve starts brainbox-host for one run, and returns when it serves. One that asks on the
// terminal has to stay in this session, and in this process's group: the prompt takes the
// foreground for its group, and ^C and ^Z typed at it have to come to the job. To any other
// no key of the terminal goes.
func (b *bridgeRun) serve(s launcher.BridgeSession) (stop func(), err error) {
	config, files := b.config(s)
	h, err := startHost(b.c.App.ErrWriter, "bridge", "what the program asks of the host is unavailable", files, b.hold == nil)
	if err != nil {
		return nil, err
	}
	if b.hold != nil { // the host's alone: its end has to be the end of what it holds
		_ = b.hold.Close()
		b.hold = nil
	}
	err = h.tell(config.Encode())
	if err == nil {
		err = h.ready("bridge")
	}
	if err != nil {
		h.kill()
		return nil, err
	}
	h.served()
	go h.watch(func() { _, _ = io.Copy(io.Discard, h.control) })
	return h.stop, nil
}

// config says what the host serves, and which descriptors it gets for it, from number
// hostask.Control+1 on.
func (b *bridgeRun) config(s launcher.BridgeSession) (*hostask.Config, []uintptr) {
	var files []uintptr
	give := func(fd int) int {
		if fd < 0 {
			return -1
		}
		files = append(files, uintptr(fd))
		return hostask.Control + len(files)
	}
	kept := s.Plan.Kept(s.Facts)
	c := &hostask.Config{
		Session: s.ID, Dir: s.Dir, State: b.place.StateDir(), Envelope: b.envelope,
		Keep: kept.Keep, Hide: kept.Hide, Writes: kept.Writes, Gate: gateRequest(b.pol, b.place),
		Agent: give(s.Agent), UI: give(s.UI), Conn: give(s.Conn), Terminal: -1, UID: uint32(b.place.EUID),
	}
	if id := s.Facts.Identity; id != nil {
		c.UID = id.UID
	}
	c.Gate.Roots = nil
	for i, r := range b.roots {
		c.Roots = append(c.Roots, hostask.Root{Name: r.Name, Path: r.Path, FD: give(int(b.held[i].Fd()))})
		c.Gate.Roots = append(c.Gate.Roots, r.Path)
	}
	if b.hold != nil {
		c.Terminal = give(int(b.hold.Fd()))
	}
	return c, files
}
