package zklock

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"
)

// wire is one TCP connection of a session. It records two facts that ZooKeeper's client does not report: the session
// timeout that the server granted, and when the server last sent something.
type wire struct {
	net.Conn

	session    *session
	opened     time.Time
	limit      time.Duration // how long the handshake may take
	heard      atomic.Int64  // nanoseconds from the time opened to the arrival of the last byte
	head       []byte        // beginning of the first reply
	handshaken bool          // the first reply is complete
}

// Read reads from the connection. The client calls it in one goroutine at a time.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.heard.Store(int64(time.Since(w.opened)))
		if !w.handshaken {
			w.readHandshake(p[:n])
		}
	}
	return n, err
}

// readHandshake parses the first reply: its length, the protocol's version, the session's timeout in milliseconds, and
// the session's id (ConnectResponse in zookeeper.jute).
func (w *wire) readHandshake(p []byte) {
	w.head = append(w.head, p...)
	if len(w.head) < 20 {
		return
	}
	w.handshaken = true
	timeout, id := int32(binary.BigEndian.Uint32(w.head[8:])), int64(binary.BigEndian.Uint64(w.head[12:]))
	w.head = nil
	if id != 0 {
		w.session.negotiated(time.Duration(timeout) * time.Millisecond)
	}
}

// SetReadDeadline sets a shorter deadline during the handshake. For the handshake, the client itself sets no deadline,
// or one of almost seven times the session's timeout.
func (w *wire) SetReadDeadline(t time.Time) error {
	if !w.handshaken {
		t = w.opened.Add(w.limit)
	}
	return w.Conn.SetReadDeadline(t)
}

// silentSince reports whether the connection has received nothing since t.
func (w *wire) silentSince(t time.Time) bool {
	return !w.opened.Add(time.Duration(w.heard.Load())).After(t)
}

// dialNext opens a connection. After all servers have failed, it waits before the next round of attempts, longer each
// time. The client itself would wait for a whole second after the first round.
func (s *session) dialNext(network, address string, _ time.Duration) (net.Conn, error) {
	if pause := s.pause(); pause > 0 {
		timer := time.NewTimer(pause/2 + rand.N(pause))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.ctx.Done():
		}
	}
	if s.ctx.Err() != nil {
		return nil, context.Cause(s.ctx)
	}
	limit := s.handshakeLimit()
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	conn, err := s.store.dial(ctx, network, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures++
	if err != nil {
		s.dialed = err
		return nil, err
	}
	s.dialed = errors.New(address + " does not answer")
	s.wire = &wire{Conn: conn, session: s, opened: time.Now(), limit: limit}
	return s.wire, nil
}

// pause returns the delay before the next connection attempt.
func (s *session) pause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	round := s.failures / len(s.store.servers)
	if round == 0 {
		return 0
	}
	return min(20*time.Millisecond<<min(round, 10), time.Second, s.asked/20)
}

// hosts tells the client to which server to connect next. A host name is resolved when the server is dialed.
type hosts struct {
	session *session
	servers []string
	next    int
}

// Init receives the servers in a random order, which the client chose for this session.
func (h *hosts) Init(servers []string) error {
	h.servers = servers
	return nil
}

func (h *hosts) Len() int   { return len(h.servers) }
func (h *hosts) Connected() {}

// Next returns the next server. If the result look is true, the client checks whether it was closed, but also waits for
// a second. So look is true only when the session has ended.
func (h *hosts) Next() (server string, look bool) {
	h.next = (h.next + 1) % len(h.servers)
	return h.servers[h.next], h.session.ctx.Err() != nil
}

// quiet is a logger that writes nothing.
type quiet struct{}

func (quiet) Printf(string, ...any) {}
