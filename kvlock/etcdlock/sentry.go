package etcdlock

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
)

var _ driver.Idler = (*Backend)(nil)

// sentry watches one session that holds locks. It is needed because an answered renewal does not prove that the lease
// will last. A leader that was suspended may revoke renewed leases when it continues (see the package comment).
//
// The sentry watches the session's own key. etcd deletes all keys of a lease in one transaction, so the deletion of
// this key reports the end of all locks of the session. A session needs one watch and one goroutine for any number of
// locks.
type sentry struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the sentry has ended
}

// guard starts a sentry for a session, unless there is one. The caller holds mu.
func (b *Backend) guard(s *session) {
	if b.sentries[s] != nil || s.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(s.ctx))
	w := &sentry{cancel, make(chan struct{})}
	b.sentries[s] = w
	go func() {
		defer close(w.done)
		stop := context.AfterFunc(b.client.Ctx(), cancel) // a closed client delivers no events, so the sentry must end
		defer stop()
		b.watch(ctx, s)
		<-ctx.Done() // if etcd has refused the watch, do not retry, but wait until the session ends
		b.mu.Lock()
		defer b.mu.Unlock()
		b.relieve(s, w)
	}()
}

// relieve ends a sentry. The next grant on its session starts a new one. The caller holds mu.
func (b *Backend) relieve(s *session, w *sentry) {
	w.cancel()
	if b.sentries[s] == w {
		delete(b.sentries, s)
	}
}

// watch returns when the session or ctx has ended, or when etcd does not permit the watch. If etcd does not permit the
// watch, the next renewal notices the end of the session.
func (b *Backend) watch(ctx context.Context, s *session) {
	const shortest = 10 * time.Millisecond
	pause, stands := shortest, false
	for {
		revision, err := b.post(ctx, s, stands)
		if err == nil {
			pause, stands = shortest, true
			err = b.follow(ctx, s, revision)
		}
		switch {
		case noLease(err), errors.Is(err, errLeaseLost):
			b.drop(s)
			return
		case driver.IsPermanent(classify(err)) || !backoff.Sleep(ctx, pause):
			return
		}
		pause = min(2*pause, s.ttl/4)
	}
}

// post puts the session's key. If the parameter stands is true, an earlier call has put the key, and post only reads it.
// post returns the revision from which to watch the key.
func (b *Backend) post(ctx context.Context, s *session, stands bool) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout())
	defer cancel()
	key := b.sessionKey(s.id)
	if !stands {
		reply, err := led(ctx, func(ctx context.Context) (*clientv3.PutResponse, error) {
			return b.client.Put(ctx, key, "", clientv3.WithLease(s.id))
		})
		if err != nil {
			return 0, err
		}
		return reply.Header.Revision + 1, nil
	}
	reply, err := b.get(ctx, key)
	switch {
	case err != nil:
		return 0, err
	case len(reply.Kvs) == 0:
		return 0, errLeaseLost
	}
	b.forced(s, reply.Kvs[0])
	return reply.Header.Revision + 1, nil
}

// follow watches the session's key. It returns errLeaseLost when the key is deleted. If the watch ends for another
// reason, it returns another error or nil. For example, the node has no leader, or the revision was compacted.
func (b *Backend) follow(ctx context.Context, s *session, revision int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for reply := range b.client.Watch(ctx, b.sessionKey(s.id), clientv3.WithRev(revision)) {
		if err := reply.Err(); err != nil {
			return err
		}
		for _, e := range reply.Events {
			if e.Type == clientv3.EventTypeDelete {
				return errLeaseLost
			}
			b.forced(s, e.Kv)
		}
	}
	return ctx.Err()
}

// forced ends the grants of a lock that an operator has released by force. ForceRelease writes the prefix of the lock's
// queue into the session's key (kv), in the transaction that deletes the keys of the holders.
func (b *Backend) forced(s *session, kv *mvccpb.KeyValue) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for path, e := range s.entries {
		if len(kv.Value) > 0 && strings.HasPrefix(path, string(kv.Value)) && e != nil && e.token != 0 && e.revision < kv.ModRevision {
			b.strike(e)
			e.end(errForced)
		}
	}
}

// CloseIdle implements [driver.Idler]. It stops watching sessions that hold no lock.
func (b *Backend) CloseIdle(ctx context.Context) {
	b.mu.Lock()
	idle := maps.Clone(b.sentries)
	for _, e := range b.entries {
		if e.token != 0 {
			delete(idle, e.session)
		}
	}
	for s, w := range idle { // end these sentries while mu is held, so that no new grant relies on one of them
		b.relieve(s, w)
	}
	b.mu.Unlock()
	for _, w := range idle {
		select {
		case <-w.done:
		case <-ctx.Done():
			return
		}
	}
}
