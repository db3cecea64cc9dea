package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// session is one etcd lease, which any number of locks use. A session has no goroutine that renews it. Three kinds of
// calls renew a session: renewals of its locks, waits, and acquisitions that need more of its TTL. An unused session
// ends after its TTL.
type session struct {
	id   clientv3.LeaseID
	name string          // the text of id in keys
	ttl  time.Duration   // the TTL that etcd granted
	ctx  context.Context // ends when the lease is known to have ended
	end  context.CancelCauseFunc

	// Guarded by Backend.mu.
	proven  time.Time         // when the last answered request was sent that made or renewed the lease
	doubted bool              // a request got no answer, and etcd may execute it late
	entries map[string]*entry // by key; nil for a key that may exist and belongs to no known acquisition
	limit   *time.Timer       // calls giveUp
}

// opener keeps the session that new locks use, and the turn to open the next one. The backend has one opener for each
// length of an etcd lease.
type opener struct {
	turn    chan struct{} // held by the goroutine that makes or renews the session
	session *session      // nil until the first lock
}

// seconds returns the length of the etcd lease for locks with this TTL, in seconds. The lease is an eighth longer than
// ttl, so that not every acquisition must renew the lease to get a full TTL.
func seconds(ttl time.Duration) int64 {
	return int64((ttl + ttl/8 + time.Second - 1) / time.Second)
}

// session returns a session that lives for at least ttl from now on.
func (b *Backend) session(ctx context.Context, ttl time.Duration) (*session, error) {
	length := seconds(ttl)
	b.mu.Lock()
	o := b.openers[length]
	if o == nil {
		o = &opener{turn: make(chan struct{}, 1)}
		b.openers[length] = o
	}
	s := o.session
	b.mu.Unlock()
	if b.usable(s) && b.fresh(s, ttl) {
		return s, nil
	}
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s = o.session
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
	s = &session{
		id: granted.ID, name: leaseName(granted.ID), ttl: time.Duration(granted.TTL) * time.Second,
		proven: sent, entries: make(map[string]*entry),
	}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	b.mu.Lock()
	defer b.mu.Unlock()
	o.session = s
	s.limit = time.AfterFunc(2*s.ttl, func() { b.giveUp(s) })
	return s, nil
}

// timeout returns the limit of one request. It is so short that several requests can time out before the session ends.
func (s *session) timeout() time.Duration { return min(s.ttl/6, 5*time.Second) }

// usable reports whether new locks may use s.
func (b *Backend) usable(s *session) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return s != nil && s.ctx.Err() == nil && !s.doubted
}

// fresh reports whether s certainly lives for ttl from now on without a renewal.
func (b *Backend) fresh(s *session, ttl time.Duration) bool {
	return b.age(s) <= s.ttl-ttl
}

// age returns the time since the last answered request that made or renewed the lease of s was sent. It measures this
// time with the monotonic clock and with the wall clock, and returns the longer result, because the monotonic clock
// stops while the machine sleeps.
func (b *Backend) age(s *session) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(time.Since(s.proven), time.Now().Round(0).Sub(s.proven.Round(0)).Abs())
}

// ensure renews s unless s certainly lives for ttl from now on.
func (b *Backend) ensure(ctx context.Context, s *session, ttl time.Duration) error {
	if b.fresh(s, ttl) {
		return nil
	}
	return b.beat(ctx, s)
}

// beat renews the session s for its full TTL from now. If etcd no longer has the lease, beat ends s. The client's
// method KeepAliveOnce is not used, because it loops without a delay while there is no connection. A renewal also keeps
// unknown keys of a doubted session alive, so beat sweeps such a session.
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
	if sent.After(s.proven) {
		s.proven = sent
	}
	doubted := s.doubted
	b.mu.Unlock()
	if doubted {
		b.sweep(ctx, s)
	}
	return nil
}

// keepAlive returns the TTL in seconds that the lease has now, or zero if the lease does not exist.
//
// keepAlive calls the streaming method as a unary method. On the wire this is a stream of one request. A client with a
// password authenticates again for each stream that it opens. That would cost the server a password hash and a commit
// for every renewal.
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

// why adds the connection's error to the error of a request that timed out. The client retries some requests until they
// time out, and reports no cause. So the method sends a request that the client does not retry. If the connection is
// broken, that request fails at once with the cause.
func (b *Backend) why(ctx context.Context, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	const limit = 200 * time.Millisecond // gives the client time to open a connection, because the cause is unknown before that
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	reason := b.client.ActiveConnection().Invoke(ctx, pb.Lease_LeaseTimeToLive_FullMethodName, new(pb.LeaseTimeToLiveRequest), new(pb.LeaseTimeToLiveResponse))
	if reason == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %v", err, reason) //nolint:errorlint // the first error decides what callers do
}

// drop ends s and all its locks.
func (b *Backend) drop(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.end(errLeaseLost)
	for _, e := range s.entries {
		if e != nil {
			b.strike(e)
			e.end(errLeaseLost)
		}
	}
}

// giveUp ends a session that etcd has not confirmed for twice its TTL. Such a session is unused, or etcd does not
// answer.
func (b *Backend) giveUp(s *session) {
	b.mu.Lock()
	left := 2*s.ttl - time.Since(s.proven)
	if left > 0 {
		s.limit.Reset(left)
	}
	b.mu.Unlock()
	if left <= 0 {
		b.drop(s)
	}
}

// sweep deletes the keys of a doubted session that belong to no known acquisition. etcd may execute a request after its
// caller has given up, and the key would then live as long as the session. New locks use another session, and a doubted
// session uses no key twice. sweep does not delete a paused key.
func (b *Backend) sweep(ctx context.Context, s *session) {
	lease, err := b.client.TimeToLive(ctx, s.id, clientv3.WithAttachedKeys())
	if err != nil {
		return // the next renewal retries
	}
	for _, key := range lease.Keys {
		if key := string(key); key != b.sessionKey(s.id) && b.abandon(s, key) {
			unpaused := clientv3.Compare(clientv3.LeaseValue(key), "=", s.id)
			_, _ = b.commit(ctx, []clientv3.Cmp{unpaused}, []clientv3.Op{clientv3.OpDelete(key)}, nil)
		}
	}
}

// abandon reports whether key may be deleted, because it belongs to no running request and to no grant. It then also
// removes the record of the acquisition, so that a retry puts another key.
func (b *Backend) abandon(s *session, key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := s.entries[key]
	if e == nil {
		return true
	}
	if e.running || e.token != 0 && !e.leaving {
		return false
	}
	b.strike(e)
	return true
}
