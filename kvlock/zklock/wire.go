package zklock

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/internal/backoff"
)

// wire is one TCP connection of a session. It reads the session timeout that the server granted, which ZooKeeper's
// client does not report. It also limits how long the server may be silent. Without that limit, the client would wait for
// two thirds of the session's timeout.
type wire struct {
	net.Conn

	session *session

	mu      sync.Mutex
	head    []byte // beginning of the first reply
	greeted bool   // the first reply is complete
	waiting bool   // the server has sent nothing since the last request, and must do so before the connection's deadline
}

// Write sends a request or a ping. The server answers both. If Write fails, the function ask repeats the request on
// another connection.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	if !w.waiting {
		w.waiting = true
		_ = w.Conn.SetReadDeadline(time.Now().Add(w.session.patience()))
	}
	w.mu.Unlock()
	n, err := w.Conn.Write(p)
	if err != nil {
		err = zk.ErrConnectionClosed
	}
	return n, err
}

// Read reads from the connection. The client calls it in one goroutine at a time.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 && !w.greeted {
		w.greet(p[:n])
	}
	if n > 0 && w.greeted && w.waiting {
		w.waiting = false
		_ = w.Conn.SetReadDeadline(time.Time{})
	}
	return n, err
}

// SetReadDeadline does nothing. The deadlines of the client are later than those of the wire.
func (w *wire) SetReadDeadline(time.Time) error { return nil }

// greet parses the first reply: its length, the protocol's version, the session's timeout in milliseconds, and the
// session's id (ConnectResponse in zookeeper.jute). The caller holds mu.
func (w *wire) greet(p []byte) {
	w.head = append(w.head, p...)
	if len(w.head) < 20 {
		return
	}
	timeout, id := int32(binary.BigEndian.Uint32(w.head[8:])), int64(binary.BigEndian.Uint64(w.head[12:]))
	w.head, w.greeted = nil, true
	if id != 0 {
		w.session.mu.Lock()
		w.session.timeout = time.Duration(timeout) * time.Millisecond
		w.session.mu.Unlock()
	}
}

// patience returns how long a server may take to answer a request.
func (s *session) patience() time.Duration {
	return min(max(s.asked/8, 250*time.Millisecond), 2*time.Second)
}

// dial opens a connection. It limits how long a server may take to accept the connection, and to answer the handshake.
// After all servers have failed, they may be slow instead of down, so the limit grows. The method then also waits before
// the next round of attempts, longer each time. The client itself would wait for a whole second after the first round.
func (s *session) dial(network, address string, _ time.Duration) (net.Conn, error) {
	s.mu.Lock()
	round := s.failures / len(s.backend.servers)
	s.failures++
	s.mu.Unlock()
	const most = 5 * time.Second
	limit := min(max(s.patience(), 500*time.Millisecond)<<min(round, 2), most)
	if round > 0 {
		delay := min(20*time.Millisecond<<min(round, 10), time.Second, s.asked/20)
		backoff.Sleep(s.ctx, delay/2+rand.N(delay))
	}
	if s.ctx.Err() != nil {
		return nil, context.Cause(s.ctx)
	}
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	conn, err := s.backend.dial(ctx, network, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.dialed = err
		return nil, err
	}
	s.dialed = errors.New(address + " does not answer")
	s.wire = &wire{Conn: conn, session: s, waiting: true}
	_ = conn.SetReadDeadline(time.Now().Add(limit))
	return s.wire, nil
}

// hosts tells the client to which server to connect next. A host name is resolved when the server is dialed.
type hosts struct {
	session *session
	next    int // random at first, so that the sessions use different servers
}

func (h *hosts) Init([]string) error { return nil }
func (h *hosts) Len() int            { return len(h.session.backend.servers) }
func (h *hosts) Connected()          {}

// Next returns the next server. If the result look is true, the client checks whether it was closed, but also waits for
// a second. So look is true only when the session has ended.
func (h *hosts) Next() (server string, look bool) {
	h.next = (h.next + 1) % h.Len()
	return h.session.backend.servers[h.next], h.session.ctx.Err() != nil
}
