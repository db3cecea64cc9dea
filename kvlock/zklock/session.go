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

// session is one session of ZooKeeper, on which any number of locks live. Its client connects again
// by itself and sends the signs of life that keep it; once it is over the client is thrown away.
type session struct {
	store *store
	asked time.Duration // the timeout that was asked for
	conn  *zk.Conn
	loop  <-chan zk.Event // closed when nothing of the client runs any more
	ended chan struct{}   // closed when the connection is, too
	ctx   context.Context // ends when the session is over, or trusted no more
	end   context.CancelCauseFunc

	// Guarded by store.mu.
	used time.Time   // when somebody last asked for it, or an entry of it was forgotten
	idle *time.Timer // looks whether it is used

	mu          sync.Mutex
	wire        *wire         // the present connection, or the last
	timeout     time.Duration // as granted; zero before the first connection
	failures    int           // to connect, in a row
	dialed      error         // the last of them
	connected   bool
	connections int // made so far
	authorized  bool
	up          chan struct{} // closed while requests can be made
	proven      time.Time     // before the last request was sent that a majority of the servers answered
	kept        time.Time     // when the last entry was granted
	expiry      *time.Timer   // of the trust that it is worth
	granted     int           // entries that are held
	watches     map[string]*watch
	asking      int           // requests under way
	answered    chan struct{} // closed when there are none; nil if nobody waits for that
}

// trusted is the part of a session's timeout, in tenths, for which a grant is trusted after it was
// proven. The server that a client talks to passes its signs of life on to the leader, which ends
// sessions, with the next ping of the leader, half a tick later. So when a majority answers a request,
// the last that the leader has heard of the session may be a third of the timeout old, which is the
// client's interval, and half a tick, which is a quarter of the timeout at most.
const trusted = 4

// lengths are what TTLs are rounded up to: each is a connection, and the servers bound how many one address may have.
var lengths = []time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 20 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 4 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour,
}

// length is what ttl is rounded up to. None that rowlock.New takes is longer than all of them.
func length(ttl time.Duration) time.Duration {
	if i := slices.IndexFunc(lengths, func(l time.Duration) bool { return ttl <= l }); i >= 0 {
		return lengths[i]
	}
	return ttl
}

// session returns the one for new locks with a TTL. It does no I/O.
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

// any returns a session for requests that no lock depends on.
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

// sendBuffer holds the largest request: a hundred and twenty-eight kilobytes of watches.
const sendBuffer = 256 << 10

// run throws the client away when the session is over. A goodbye that arrives ends it at the servers.
//
// The requests under way are let end before: one of which the client learns that it was closed, that its bytes could not
// be written, and that the connection is gone, is answered three times by the client's loop, which has room for two
// answers, and the loop then never ends (Conn.flushRequests in go-zookeeper 1.0.4). So it is not waited for
// without a bound either.
func (s *session) run() {
	defer close(s.ended)
	<-s.ctx.Done()
	const grace, limit = 250 * time.Millisecond, 5 * time.Second
	if !s.quiet(grace) {
		s.hangUp()
		s.quiet(grace)
	}
	s.conn.Close()
	s.hangUp()
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

// authorize makes the first authentication; the client repeats it with every connection.
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

// trust is for how long a grant is trusted after it was proven, if ttl was asked for.
func (s *session) trust(ttl time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(ttl, s.timeout*trusted/10)
}

// finish ends the session for all that live on it, and forgets them.
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
