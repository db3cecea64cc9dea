package faultproxy

import (
	"net"
	"time"
)

// AfterDrop is what happens to a connection after one of its replies was dropped.
type AfterDrop int

const (
	// Hang keeps the connection open, but drops all later replies too, so the client waits until its timeout.
	// Later requests still reach the server.
	Hang AfterDrop = iota
	// Reset resets the connection, so the client knows at once that no reply will come.
	Reset
)

// Cut makes the network drop all bytes in both directions. Neither side learns that the other has closed
// the connection. Open connections stay open. New connections are accepted and get no answer.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
}

// CutAfter cuts the network when n more chunks of bytes have reached the server.
// The server gets the last of these chunks, and its reply is lost.
func (p *Proxy) CutAfter(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.cutAt = n == 0, p.sent+n
}

// IsCut reports whether Cut or CutAfter is in effect.
func (p *Proxy) IsCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

// CutFrom cuts off the clients for whose address the function cutOff returns true, including clients that connect
// later.
func (p *Proxy) CutFrom(cutOff func(client net.Addr) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutFrom = cutOff
	for l := range p.links {
		l.lost = l.lost || cutOff(l.client.RemoteAddr())
	}
}

// Restore ends Cut and CutFrom. Connections on which no bytes were lost continue.
// Connections on which bytes were lost, or that were opened during the cut, are reset.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.cutAt, p.cutFrom = false, 0, nil
	for l := range p.links {
		if l.lost {
			l.reset()
		}
	}
}

// Reset resets all open connections on both sides. Later connections are not affected.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
}

// DropReplies drops the next n replies, on any connection. Each request reaches the server, which carries it out, but
// the client gets no reply. A reply is everything that the server sends after a request. Bytes that the server sends
// without a request are forwarded. A client also sends requests while it opens a connection. Open the connection
// before you call DropReplies, unless the test is about opening. DropReplies(0, Hang) cancels the drops that are left.
func (p *Proxy) DropReplies(n int, then AfterDrop) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spared, p.drops, p.then = 0, n, then
}

// DropReply drops the k-th reply from now, and forwards the others. See DropReplies.
func (p *Proxy) DropReply(k int, then AfterDrop) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spared, p.drops, p.then = k-1, 1, then
}

// Drops returns how many replies are still to be dropped.
func (p *Proxy) Drops() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drops
}

// Delay delays everything by d in each direction, so a round trip takes 2d longer. Zero ends the delay.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = [2]time.Duration{toServer: d, toClient: d}
}

// DelayReplies delays what the server sends by d, and nothing that a client sends. Zero ends the delay.
func (p *Proxy) DelayReplies(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = [2]time.Duration{toClient: d}
}

// Sent returns how many chunks of bytes have reached the server. A request is one chunk or more.
func (p *Proxy) Sent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// Requests returns how many requests have reached the server. A request is what a client sends on a connection until
// the server sends something. So requests that a client pipelines count as one.
func (p *Proxy) Requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// PointAt connects all later clients to another server, target (host:port). A virtual IP address does the same after a
// failover. Open connections continue.
func (p *Proxy) PointAt(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}
