package zklock

import (
	"context"
	"errors"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/oneline"
)

// session is one ZooKeeper session, which any number of locks use. The session's client reconnects by itself, and sends
// the pings that keep the session alive. When the session ends, run closes the client.
type session struct {
	backend *Backend
	asked   time.Duration // the requested timeout
	conn    *zk.Conn
	loop    <-chan zk.Event // closed when all goroutines of the client have ended
	ended   chan struct{}   // closed when the client's goroutines and connection have ended
	ctx     context.Context // ends when the session has ended, or is no longer trusted
	end     context.CancelCauseFunc

	authorized chan struct{} // closed when the client is authenticated

	mu        sync.Mutex
	wire      *wire         // the current connection, or the last one
	timeout   time.Duration // the timeout that the servers granted; zero before the first connection
	failures  int           // failed connection attempts in a row
	dialed    error         // the error of the last failed attempt
	connected bool
	up        chan struct{} // closed while the client is connected
	watches   map[string]*watch
	kept      time.Time // when an entry was granted, or just before the last request for a renewal that succeeded

	expiry *time.Timer  // calls expire half a timeout after kept
	asking atomic.Int32 // number of running requests
}

// trusted is the part of a session's timeout, in tenths, for which a grant is trusted after a proof. The leader ends
// sessions. The server of the client reports the client's pings to the leader only when the leader pings that server.
// The leader does so twice in each tickTime. So when a majority answers a request, the leader's last information about
// the session may be older than the request. The difference is at most the client's ping interval plus half a tickTime.
// The ping interval is a third of the timeout, and half a tickTime is at most a quarter of it.
const trusted = 4

// lengths lists the values to which TTLs are rounded up. There are few of them, because each length needs a connection,
// and servers limit the number of connections from one address. rowlock.New accepts no TTL longer than the last length.
var lengths = []time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 20 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 4 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour,
}

// session returns the session for new locks with a TTL. It does no I/O.
func (b *Backend) session(ttl time.Duration) (*session, error) {
	i, _ := slices.BinarySearch(lengths, ttl)
	asked := 2 * lengths[min(i, len(lengths)-1)]
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err != nil:
		return nil, driver.Permanent(b.err)
	case b.closed:
		return nil, driver.Permanent(errClosed)
	}
	s := b.sessions[asked]
	if s == nil || s.ctx.Err() != nil {
		s = b.open(asked)
		b.sessions[asked] = s
	}
	return s, nil
}

// sendBuffer is the size of the client's send buffer in bytes. The largest request has 128 kilobytes of watches.
const sendBuffer = 256 << 10

func (b *Backend) open(asked time.Duration) *session {
	s := &session{
		backend: b, asked: asked, ended: make(chan struct{}), authorized: make(chan struct{}), up: make(chan struct{}), watches: make(map[string]*watch),
	}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	s.expiry = time.AfterFunc(math.MaxInt64, s.expire)
	// Connect fails only without servers.
	s.conn, s.loop, _ = zk.Connect(b.servers, asked, zk.WithDialer(s.dial), zk.WithHostProvider(&hosts{s, rand.IntN(len(b.servers))}),
		zk.WithEventCallback(s.event), zk.WithLogger(log.New(io.Discard, "", 0)), zk.WithLogInfo(false), zk.WithMaxConnBufferSize(sendBuffer))
	b.running.Go(s.run)
	b.running.Go(s.authorize)
	return s
}

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
	for began := time.Now(); s.asking.Load() > 0 && time.Since(began) < 2*grace; time.Sleep(time.Millisecond) {
		if time.Since(began) > grace {
			s.closeWire()
		}
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

// closeWire closes the current connection. The client then opens another one.
func (s *session) closeWire() {
	s.mu.Lock()
	w := s.wire
	s.mu.Unlock()
	if w != nil {
		_ = w.Close()
	}
}

// authorize authenticates on the first connection. The client repeats the authentication on every later connection.
func (s *session) authorize() {
	for _, a := range s.backend.auth {
		err := zk.ErrConnectionClosed
		for err != nil && backoff.Sleep(s.ctx, time.Millisecond) {
			err = s.conn.AddAuth(a.scheme, a.secret)
			if errors.Is(err, zk.ErrAuthFailed) {
				s.finish(driver.Permanent(err))
				return
			}
		}
	}
	close(s.authorized)
}

// trust returns how long a grant with this TTL is trusted after a proof.
func (s *session) trust(ttl time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(ttl, s.timeout*trusted/10)
}

// keep keeps the session for half its timeout, from the instant since. If it then still holds locks, the session ends. By
// then no holder trusts a lease of the session any more. If only the replies of the servers were lost, the client's pings
// would otherwise hold these locks for as long as the process lives.
func (s *session) keep(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since.After(s.kept) {
		s.kept = since
		s.expiry.Reset(s.timeout/2 - time.Since(since))
	}
}

func (s *session) expire() {
	s.mu.Lock()
	over := time.Since(s.kept) >= s.timeout/2
	s.mu.Unlock()
	s.backend.mu.Lock()
	holds := slices.ContainsFunc(s.entries(), func(e *entry) bool { return e.granted.Load() })
	s.backend.mu.Unlock()
	if over && holds {
		s.finish(errUnproven)
	}
}

// entries returns the locks and waiters of s. The caller holds the backend's mu.
func (s *session) entries() (all []*entry) {
	for _, e := range s.backend.entries {
		if e.session == s {
			all = append(all, e)
		}
	}
	return all
}

// finish ends the session and all its locks, and removes them from the backend.
func (s *session) finish(cause error) {
	s.end(cause)
	s.expiry.Stop()
	b := s.backend
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessions[s.asked] == s {
		delete(b.sessions, s.asked)
	}
	for _, e := range s.entries() {
		delete(b.entries, e.Nonce)
	}
}

// event handles an event of the client. It must not block.
func (s *session) event(e zk.Event) {
	if e.Type == zk.EventSession && e.State == zk.StateExpired {
		s.finish(errExpired)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Type != zk.EventSession:
		s.fire(e.Path)
	case e.State == zk.StateHasSession:
		s.connected, s.failures = true, 0
		close(s.up)
	case e.State == zk.StateDisconnected && s.connected:
		s.connected, s.up = false, make(chan struct{})
	}
}

// await waits until requests can be sent. Its errors are marked as not applied.
func (s *session) await(ctx context.Context) error {
	if s.ctx.Err() != nil {
		return s.over()
	}
	s.mu.Lock()
	up := s.up
	s.mu.Unlock()
	for _, ready := range []chan struct{}{s.authorized, up} {
		select {
		case <-ready:
		case <-s.ctx.Done():
			return s.over()
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			return driver.NotApplied(oneline.Join(errUnreachable, s.dialed, ctx.Err()))
		}
	}
	return nil
}

// over returns the reason why the session has ended, marked as not applied. Use it only for requests that were not
// sent.
func (s *session) over() error { return ofRead(context.Cause(s.ctx)) }

// call sends a request and waits until it is answered or its connection ends. The client does not support contexts.
func call[T any](s *session, request func(*zk.Conn) (T, error)) (T, error) {
	s.asking.Add(1)
	v, err := request(s.conn)
	s.asking.Add(-1)
	if errors.Is(err, zk.ErrSessionExpired) { // servers may return this error without closing the connection
		s.finish(errExpired)
	}
	return v, err
}

// askOnce sends one request. When ctx ends, the request continues until it is answered or its connection ends.
func askOnce[T any](ctx context.Context, s *session, request func(*zk.Conn) (T, error)) (T, error) {
	var none T
	if err := s.await(ctx); err != nil {
		return none, err
	}
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		v, err := call(s, request)
		answers <- answer{v, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-s.ctx.Done():
		return none, context.Cause(s.ctx)
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// ask sends a request, and repeats it if the connection breaks. The request must be safe to repeat.
func ask[T any](ctx context.Context, s *session, request func(*zk.Conn) (T, error)) (T, error) {
	for {
		v, err := askOnce(ctx, s, request)
		if !errors.Is(err, zk.ErrConnectionClosed) || !backoff.Sleep(ctx, time.Millisecond) {
			return v, err
		}
	}
}

// again calls the function do. If that fails because its session had already ended, it calls do once more, which then
// gets another session. A waiter that has lost its node is not such a failure.
func again[T any](do func() (T, error)) (T, error) {
	v, err := do()
	if driver.IsNotApplied(err) && isAny(err, []error{errExpired, errUnproven, errIdle}) && !errors.Is(err, errPlaceLost) {
		return do()
	}
	return v, err
}
