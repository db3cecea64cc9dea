package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// session is one lease of etcd, on which any number of locks live. Nothing runs for it: it is kept
// alive by the renewal of its locks, by whoever waits in a queue, and by acquisitions that need it. One
// that nobody uses ends with its TTL.
type session struct {
	id  clientv3.LeaseID
	ttl time.Duration   // as etcd granted it
	ctx context.Context // ends when the lease is known to be gone
	end context.CancelCauseFunc

	// Guarded by Backend.mu.
	proven  time.Time       // before the last request was sent that etcd answered with the lease's full TTL
	doubted bool            // a request is missing its reply, so that there may be an entry that nobody knows of
	used    map[string]bool // entries that are there, or may be
}

// place is where the session for new locks of one length is kept.
type place struct {
	turn    chan struct{} // of whoever makes it or keeps it alive
	session *session      // nil at first
}

// seconds is the length of lease for a TTL: an eighth longer, so that an acquisition need not keep the
// lease alive each time to be sure of a full TTL.
func seconds(ttl time.Duration) int64 {
	return int64((ttl + ttl/8 + time.Second - 1) / time.Second)
}

// session returns one that lives for ttl from now on at least.
func (b *Backend) session(ctx context.Context, ttl time.Duration) (*session, error) {
	length := seconds(ttl)
	b.mu.Lock()
	p := b.places[length]
	if p == nil {
		p = &place{turn: make(chan struct{}, 1)}
		b.places[length] = p
	}
	s := p.session
	b.mu.Unlock()
	if b.usable(s) && b.fresh(s, ttl) {
		return s, nil
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s = p.session
	if b.usable(s) {
		err := b.ensure(ctx, s, ttl)
		if err == nil || s.ctx.Err() == nil {
			return s, err
		}
	}
	sent := time.Now()
	granted, err := led(ctx, func(ctx context.Context) (*clientv3.LeaseGrantResponse, error) { return b.client.Grant(ctx, length) })
	if err != nil {
		return nil, b.why(ctx, err)
	}
	s = &session{id: granted.ID, ttl: time.Duration(granted.TTL) * time.Second, proven: sent, used: make(map[string]bool)}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	b.mu.Lock()
	defer b.mu.Unlock()
	p.session = s
	b.forgetOld()
	return s, nil
}

// timeout of one request: short enough for several before the session ends.
func (s *session) timeout() time.Duration { return min(s.ttl/6, 5*time.Second) }

// usable says whether new locks may be put on s.
func (b *Backend) usable(s *session) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return s != nil && s.ctx.Err() == nil && !s.doubted
}

// fresh says whether s certainly lives for ttl from now on.
func (b *Backend) fresh(s *session, ttl time.Duration) bool {
	return b.age(s) <= s.ttl-ttl
}

// age is how long ago s was proven, by the clock that says longest: the monotonic one stops while the
// machine sleeps.
func (b *Backend) age(s *session) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(time.Since(s.proven), time.Now().Round(0).Sub(s.proven.Round(0)).Abs())
}

// ensure keeps s alive if it is not fresh.
func (b *Backend) ensure(ctx context.Context, s *session, ttl time.Duration) error {
	if b.fresh(s, ttl) {
		return nil
	}
	return b.beat(ctx, s)
}

// beat keeps s alive for its full TTL from now, and ends it if etcd knows it no more. It makes one
// attempt; KeepAliveOnce of the client would spin while it has no connection.
func (b *Backend) beat(ctx context.Context, s *session) error {
	if s.ctx.Err() != nil {
		return errLeaseLost
	}
	sent := time.Now()
	ttl, err := b.keepAlive(ctx, s.id)
	switch {
	case err == nil && ttl <= 0, noLease(err):
		b.drop(s)
		return errLeaseLost
	case err != nil:
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if sent.After(s.proven) {
		s.proven = sent
	}
	return nil
}

// keepAlive returns the TTL in seconds that the lease now has; none if there is no such lease.
//
// It calls the method as if it were unary, which on the wire is a stream of one request. With user and
// password the client authenticates again for each stream that it opens: a password hash and a commit of
// the server's for every renewal.
func (b *Backend) keepAlive(ctx context.Context, id clientv3.LeaseID) (int64, error) {
	return led(ctx, func(ctx context.Context) (int64, error) {
		reply := new(pb.LeaseKeepAliveResponse)
		err := b.client.ActiveConnection().Invoke(ctx, pb.Lease_LeaseKeepAlive_FullMethodName, &pb.LeaseKeepAliveRequest{ID: int64(id)}, reply)
		if err != nil {
			return 0, clientError(ctx, err)
		}
		return reply.TTL, nil
	})
}

// why adds to the error of a request that had no answer in time what is wrong with the connection. The client
// repeats some requests until then, and tells no more; one that it does not repeat fails at once with the reason.
func (b *Backend) why(ctx context.Context, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	const limit = 200 * time.Millisecond // a connection that is being made has no reason yet
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	reason := b.client.ActiveConnection().Invoke(ctx, pb.Lease_LeaseTimeToLive_FullMethodName, new(pb.LeaseTimeToLiveRequest), new(pb.LeaseTimeToLiveResponse))
	if reason == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %v", err, reason) //nolint:errorlint // what is to be done follows from the first
}

// drop ends s, and with it all that lives on it.
func (b *store) drop(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for nonce, h := range b.holds {
		if h.session == s {
			delete(b.holds, nonce)
			if h.end != nil {
				h.end(errLeaseLost)
			}
		}
	}
	s.end(errLeaseLost)
}

// doubt is for a request that puts an entry on s, and was not answered: it keeps new locks off s, and has
// its renewals look for entries that nobody knows of.
func (b *Backend) doubt(r driver.Request, s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.doubted = true
	if h := b.holds[r.Nonce]; h != nil {
		h.doubted = true
	}
}

// over is the context of what does not live.
var over = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errLeaseLost)
	return ctx
}()

// Session returns a context that ends when g is known to be gone: with the lease that it lives on, or alone, by an operator's
// force. Both are watched. A key that is deleted by hand shows with the next renewal.
func (b *Backend) Session(g driver.Grant) context.Context {
	h := b.held(g)
	b.mu.Lock()
	defer b.mu.Unlock()
	if h == nil || b.holds[g.Nonce] != h {
		return over
	}
	if h.ctx == nil {
		h.ctx, h.end = context.WithCancelCause(context.Background())
	}
	return h.ctx
}
