// Package faultproxy is a TCP proxy for tests that loses, delays or resets traffic on command. The proxy stands between
// a client and a server, and forwards the bytes of any protocol. The only message that it recognises is PostgreSQL's
// cancel request.
package faultproxy

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Proxy forwards connections to one server. All its methods are safe for concurrent use.
type Proxy struct {
	patience time.Duration
	listener net.Listener
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu     sync.Mutex
	target string
	closed bool
	cut    bool
	cutAt  int // the network is cut when the field sent reaches this value; 0: never
	// cutFrom returns true for the addresses of clients that are cut off. It is nil if no client is cut off.
	cutFrom  func(net.Addr) bool
	delay    [2]time.Duration // by direction
	sent     int              // how many chunks of bytes have reached the server
	requests int              // how many requests have reached the server
	spared   int              // how many replies are still forwarded before the first is dropped
	drops    int              // how many replies are still to be dropped
	then     AfterDrop
	links    map[*link]struct{}
}

// New starts a proxy on a free loopback port, in front of the server at target (host:port).
func New(target string) (*Proxy, error) { return NewAt("127.0.0.1:0", target, 0) }

// NewAt starts a proxy that clients reach at addr (host:port). If the server refuses a connection, the proxy retries
// for the duration patience. The proxy has already accepted the client by then, so it cannot refuse the client.
func NewAt(addr, target string, patience time.Duration) (*Proxy, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, patience: patience, listener: l, links: map[*link]struct{}{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.running.Go(p.accept)
	return p, nil
}

// Addr returns the address to which clients connect, as host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close resets all connections and returns when all goroutines of the proxy have ended. It may be called more than
// once.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.listener.Close()
	p.Reset()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // for example no free file descriptors; a test that needs the connection then fails
			time.Sleep(10 * time.Millisecond)
			continue
		}
		l := &link{proxy: p, client: conn.(*net.TCPConn), dead: make(chan struct{})}
		if !p.add(l) {
			l.reset()
			return
		}
		p.running.Go(l.run)
	}
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	l.lost = p.cut || p.cutFrom != nil && p.cutFrom(l.client.RemoteAddr()) // a client that connects during a cut gets no answer, not even after Restore
	p.links[l] = struct{}{}
	return true
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (p *Proxy) pointsAt() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target
}
