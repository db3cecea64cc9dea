package faultproxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// link is one client's connection and ours to the server on its behalf.
type link struct {
	proxy  *Proxy
	client *net.TCPConn
	server *net.TCPConn // nil until connected, and for good when accepted during a cut
	dead   chan struct{}

	// Guarded by proxy.mu.
	lost  bool // something vanished in a cut
	deaf  bool // a reply was dropped: the server is not heard any more
	asked bool // a request has been delivered and not been answered
	ended bool // dead is closed

	cancel bool // all that it carries is a request to cancel: the server is left to finish it
}

type direction int

const (
	toServer direction = iota
	toClient
)

type verdict int

const (
	pass verdict = iota
	vanish
	cutOff
)

func (l *link) run() {
	defer l.proxy.remove(l)
	if l.isLost() {
		_, _ = io.Copy(io.Discard, l.client)
		l.abort()
		return
	}
	if !l.dial() {
		l.abort()
		return
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { l.pump(toServer, l.client, l.server) })
	pumps.Go(func() { l.pump(toClient, l.server, l.client) })
	pumps.Wait()
	l.close()        // in peace: what is still on its way arrives
	l.server.Close() // that of a request to cancel is open yet
}

func (l *link) dial() bool {
	d := net.Dialer{Timeout: 5 * time.Second}
	to := func() (net.Conn, error) { return d.DialContext(l.proxy.ctx, "tcp", l.proxy.pointsAt()) }
	conn, err := to()
	for end := time.Now().Add(l.proxy.patience); err != nil; conn, err = to() {
		if !time.Now().Before(end) || l.proxy.ctx.Err() != nil {
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if l.ended { // meanwhile
		conn.Close()
		return false
	}
	l.server = conn.(*net.TCPConn)
	return true
}

// pump moves what one side sends, and the news that it has nothing more to send.
func (l *link) pump(d direction, from, to *net.TCPConn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if !l.wait() {
			return
		}
		if n > 0 {
			switch l.judge(d) {
			case pass:
				if !l.deliver(d, to, buffer[:n]) {
					return
				}
			case cutOff:
				l.abort()
				return
			case vanish:
			}
		}
		if err == nil {
			continue
		}
		switch {
		case l.silenced(d): // the link stays for as long as the other side does
		case !errors.Is(err, io.EOF) || to.CloseWrite() != nil:
			l.abort()
		}
		return
	}
}

// deliver is false when nothing more will pass in this direction.
func (l *link) deliver(d direction, to *net.TCPConn, b []byte) bool {
	cancel := d == toServer && isCancel(b)
	if cancel && !l.cancels() {
		return false
	}
	if _, err := to.Write(b); err != nil {
		l.abort()
		return false
	}
	return !cancel
}

// wait is the delay; false when the link ended meanwhile.
func (l *link) wait() bool {
	l.proxy.mu.Lock()
	delay := l.proxy.delay
	l.proxy.mu.Unlock()
	if delay <= 0 {
		return true
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.dead:
		return false
	}
}

// judge decides what becomes of bytes that are about to pass.
func (l *link) judge(d direction) verdict {
	p := l.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.cut || l.lost:
		l.lost = true
		return vanish
	case d == toServer:
		p.sent++
		p.cut = p.sent == p.cutAt
		l.asked = true
		return pass
	case l.deaf:
		return vanish
	case l.asked && p.drops > 0:
		p.drops--
		l.deaf = true
		if p.then == Reset {
			return cutOff
		}
		return vanish
	}
	l.asked = false
	return pass
}

// silenced reports whether the other side must not learn that this one has closed.
func (l *link) silenced(d direction) bool {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if l.proxy.cut {
		l.lost = true
	}
	return l.lost || d == toClient && l.deaf
}

func (l *link) isLost() bool {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	return l.lost
}

func (l *link) abort() {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	l.reset()
}

// reset ends the link on both sides at once; the caller holds proxy.mu.
func (l *link) reset() {
	for _, c := range l.finish() {
		_ = c.SetLinger(0) // a reset instead of a farewell
		c.Close()
	}
}

func (l *link) close() {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	for _, c := range l.finish() {
		c.Close()
	}
}

// finish returns the connections that are to be closed, once.
func (l *link) finish() (open []*net.TCPConn) {
	if l.ended {
		return nil
	}
	l.ended = true
	close(l.dead)
	open = append(open, l.client)
	if l.server != nil && !l.cancel {
		open = append(open, l.server)
	}
	return open
}
