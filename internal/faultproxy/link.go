package faultproxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// link is one client's connection to the proxy, together with the proxy's connection to the server for that client.
type link struct {
	proxy  *Proxy
	client *net.TCPConn
	server *net.TCPConn // nil before the proxy is connected to the server; stays nil if the client was accepted during a cut
	dead   chan struct{}

	// Guarded by proxy.mu.
	lost  bool // bytes of this link were lost because the network was cut
	deaf  bool // a reply was dropped with Hang, so everything else from the server is dropped too
	asked bool // the server got a request and has not answered it yet
	ended bool // dead is closed

	cancel bool // this link carries a cancel request, so only the server closes the connection
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
	l.close()        // closes without a reset, so that bytes in flight still arrive
	l.server.Close() // l.close does not close the server connection of a cancel request
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
	if l.ended { // the link ended during the dial
		conn.Close()
		return false
	}
	l.server = conn.(*net.TCPConn)
	return true
}

// pump copies all bytes that one side sends to the other side, and then closes the other side's stream.
func (l *link) pump(d direction, from, to *net.TCPConn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if !l.wait(d) {
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
		// The receiver must not learn that the sender has closed its connection. So the link stays open until the
		// receiver closes its connection, too.
		case l.silenced(d):
		case !errors.Is(err, io.EOF) || to.CloseWrite() != nil:
			l.abort()
		}
		return
	}
}

// deliver writes b to one side. It returns false if the pump must stop.
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

// wait waits for the delay of this direction. It returns false if the link ended during the delay.
func (l *link) wait(d direction) bool {
	l.proxy.mu.Lock()
	delay := l.proxy.delay[d]
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

// judge decides whether bytes pass, are dropped, or end the link.
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
		if !l.asked {
			p.requests++
		}
		l.asked = true
		return pass
	case l.deaf:
		return vanish
	case l.asked && p.spared > 0:
		p.spared--
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

// silenced reports whether the proxy must hide from the receiver that the sender has closed its connection.
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

// reset resets both connections of the link. The caller holds proxy.mu.
func (l *link) reset() {
	for _, c := range l.finish() {
		_ = c.SetLinger(0) // with this option, Close sends a reset instead of a FIN
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

// finish marks the link as ended, and returns the connections that the caller must close.
// It returns none if the link had already ended.
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
