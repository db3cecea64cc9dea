package faultproxy

import (
	"net"
	"time"
)

// Fate is what becomes of a connection whose reply was dropped.
type Fate int

const (
	// Hang keeps the connection open and silent: the client's timeouts decide. Its requests are still delivered.
	Hang Fate = iota
	// Reset resets it: the client learns at once that it will never know.
	Reset
)

// Cut makes the network between client and server a black hole. Bytes vanish in both directions, and so does the news
// that one side closed its connection; connections stay open, and new ones are accepted and get nothing.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
}

// CutAfter is Cut when something has passed n more times from a client to the server, which has it then and is not heard.
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

// CutFrom is Cut for the clients that the function recognises by their addresses, now and later.
func (p *Proxy) CutFrom(whom func(client net.Addr) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutFrom = whom
	for l := range p.links {
		l.lost = l.lost || whom(l.client.RemoteAddr())
	}
}

// Restore ends Cut and CutFrom. Connections that lost nothing go on. The others, and those made during the cut, are reset: what was
// lost cannot be made good.
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

// Reset resets all connections now, on both sides. New ones are not concerned.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
}

// DropReplies swallows the next n replies, on whichever connections they come. Each request reaches the server, which
// carries it out; the client never hears of it. A reply is what the server sends after a request; what it sends unasked
// passes. The opening of a connection is made of requests too: open it before, if it is not what the test is about.
// DropReplies(0, Hang) takes back what has not been dropped yet.
func (p *Proxy) DropReplies(n int, then Fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drops, p.then = n, then
}

// Delay makes all that passes wait, in each direction: a round trip takes twice d longer. Zero ends it.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Sent is how many times something has passed from a client to the server: a request is one or more.
func (p *Proxy) Sent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// PointAt leads all connections that are made from now on to another server, host:port, as a virtual address does after a failover.
// Those that stand go on.
func (p *Proxy) PointAt(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}
