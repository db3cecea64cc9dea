package zklock

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
)

// session is one ZooKeeper session, which any number of locks use. The session's client reconnects by itself, and sends
// the pings that keep the session alive. When the session ends, run closes the client.
type session struct {
	store *store
	asked time.Duration // the requested timeout
	conn  *zk.Conn
	loop  <-chan zk.Event // closed when all goroutines of the client have ended
	ended chan struct{}   // closed when the client's goroutines and connection have ended
	ctx   context.Context // ends when the session has ended, or is no longer trusted
	end   context.CancelCauseFunc

	// Guarded by store.mu.
	used time.Time   // when the session was last requested, or an entry on it ended
	idle *time.Timer // ends the session if it is unused

	mu          sync.Mutex
	wire        *wire         // the current connection, or the last one
	timeout     time.Duration // the timeout that the servers granted; zero before the first connection
	failures    int           // failed connection attempts in a row
	dialed      error         // the error of the last failed attempt
	connected   bool
	connections int // number of connections made so far
	authorized  bool
	up          chan struct{} // closed while requests can be sent
	proven      time.Time     // a majority of the servers answered a request that was sent just after this time
	kept        time.Time     // when the last entry was granted
	expiry      *time.Timer   // ends the session when it has not been proven for too long
	granted     int           // number of held entries
	watches     map[string]*watch
	asking      int           // number of running requests
	answered    chan struct{} // closed when no request is running; nil if no goroutine waits for that
}

// trusted is the part of a session's timeout, in tenths, for which a grant is trusted after a proof. The leader ends
// sessions. The server of the client reports the client's pings to the leader only when the leader pings that server.
// The leader does so twice in each tickTime. So when a majority answers a request, the leader's last information about
// the session may be older than the request. The difference is at most the client's ping interval plus half a tickTime.
// The ping interval is a third of the timeout, and half a tickTime is at most a quarter of it.
const trusted = 4

// lengths lists the values to which TTLs are rounded up. There are few of them, because each length needs a connection,
// and servers limit the number of connections from one address.
var lengths = []time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 20 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 4 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour,
}

// length returns ttl rounded up to one of lengths. rowlock.New accepts no TTL longer than the last length.
func length(ttl time.Duration) time.Duration {
	if i := slices.IndexFunc(lengths, func(l time.Duration) bool { return ttl <= l }); i >= 0 {
		return lengths[i]
	}
	return ttl
}

// session returns the session for new locks with a TTL. It does no I/O.
func (s *store) session(ttl time.Duration) (*session, error) {
	asked := min(2*length(ttl), math.MaxInt32*time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, driver.Permanent(errClosed)
	}
	if open := s.places[asked]; open != nil && open.ctx.Err() == nil {
		open.used = time.Now()
		return open, nil
	}
	open, err := s.open(asked)
	if err != nil {
		return nil, driver.NotApplied(err)
	}
	s.places[asked] = open
	return open, nil
}

// any returns a session for requests on which no lock depends.
func (s *store) any() (*session, error) {
	s.mu.Lock()
	for _, open := range s.places {
		if open.ctx.Err() == nil && !s.closed {
			open.used = time.Now()
			s.mu.Unlock()
			return open, nil
		}
	}
	s.mu.Unlock()
	const usual = 15 * time.Second
	return s.session(usual)
}

func (s *store) open(asked time.Duration) (*session, error) {
	n := &session{store: s, asked: asked, used: time.Now(), ended: make(chan struct{}), up: make(chan struct{}), watches: make(map[string]*watch), authorized: len(s.auth) == 0}
	n.ctx, n.end = context.WithCancelCause(context.Background())
	conn, loop, err := zk.Connect(s.servers, asked, zk.WithDialer(n.dialNext), zk.WithHostProvider(&hosts{session: n, next: -1}),
		zk.WithEventCallback(n.event), zk.WithLogger(quiet{}), zk.WithLogInfo(false), zk.WithMaxConnBufferSize(sendBuffer))
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.conn, n.loop = conn, loop
	n.mu.Unlock()
	n.idle = time.AfterFunc(s.linger, n.endIdle)
	s.running.Go(n.run)
	if len(s.auth) > 0 {
		s.running.Go(n.authorize)
	}
	return n, nil
}

// sendBuffer is the size of the client's send buffer in bytes. The largest request has 128 kilobytes of watches.
const sendBuffer = 256 << 10

// run closes the client when the session ends. The client's close request ends the session on the servers.
//
// run first waits until running requests have ended. Otherwise the client's event loop may report three errors for one
// request: the client was closed, the bytes could not be written, and the connection has ended. The client's channel
// has room for two of these errors, so the third error would block the loop forever (Conn.flushRequests in go-zookeeper
// 1.0.4). For the same reason, the method waits for the loop only for a limited time.
func (s *session) run() {
	defer close(s.ended)
	<-s.ctx.Done()
	const grace, limit = 250 * time.Millisecond, 5 * time.Second
	if !s.quiet(grace) {
		s.closeWire()
		s.quiet(grace)
	}
	s.conn.Close()
	s.closeWire()
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		select {
		case _, more := <-s.loop:
			if !more {
				return
			}
		case <-late.C:
			return
		}
	}
}

// authorize authenticates on the first connection. The client repeats the authentication on every later connection.
func (s *session) authorize() {
	for _, a := range s.store.auth {
		for s.ctx.Err() == nil {
			err := s.conn.AddAuth(a.scheme, a.secret)
			if err == nil {
				break
			}
			if errors.Is(err, zk.ErrAuthFailed) {
				s.finish(driver.Permanent(err))
				return
			}
			backoff.Sleep(s.ctx, 10*time.Millisecond)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.authorized = true
	s.rise()
}

// trust returns how long a grant with this TTL is trusted after a proof.
func (s *session) trust(ttl time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(ttl, s.timeout*trusted/10)
}

// finish ends the session and all its locks, and removes them from the store.
func (s *session) finish(cause error) {
	s.end(cause)
	s.mu.Lock()
	if s.expiry != nil {
		s.expiry.Stop()
	}
	s.mu.Unlock()
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.idle.Stop()
	if s.store.places[s.asked] == s {
		delete(s.store.places, s.asked)
	}
	for nonce, e := range s.store.entries {
		if e.session == s {
			delete(s.store.entries, nonce)
		}
	}
}
