package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
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
	limit  *time.Timer
}

// guard starts a sentry for a session, unless there is one. The caller holds mu.
func (b *Backend) guard(open *session) {
	if b.sentries[open] != nil || open.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(open.ctx))
	w := &sentry{cancel: cancel, done: make(chan struct{})}
	w.limit = time.AfterFunc(2*open.ttl, func() { b.giveUp(open, w) })
	b.sentries[open] = w
	go func() {
		defer close(w.done)
		stop := context.AfterFunc(b.client.Ctx(), cancel) // a closed client delivers no events, so the sentry must end
		defer stop()
		b.watch(ctx, open)
		<-ctx.Done() // if etcd has refused the watch, do not retry, but wait until the session ends
		b.relieve(open, w)
	}()
}

// relieve removes a sentry, so that the next grant on its session starts a new one.
func (b *Backend) relieve(open *session, w *sentry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end(open, w)
}

// end does the same as relieve, for callers that hold mu.
func (b *Backend) end(open *session, w *sentry) {
	w.cancel()
	w.limit.Stop()
	if b.sentries[open] == w {
		delete(b.sentries, open)
	}
}

// giveUp ends a session that etcd has not confirmed for twice its TTL. Such a session is unused, or etcd does not
// answer.
func (b *Backend) giveUp(open *session, w *sentry) {
	b.mu.Lock()
	left := 2*open.ttl - time.Since(open.proven)
	if left > 0 && b.sentries[open] == w {
		w.limit.Reset(left)
	}
	b.mu.Unlock()
	if left <= 0 {
		b.drop(open)
	}
}

// watch returns when the session or ctx has ended, or when etcd does not permit the watch. If etcd does not permit the
// watch, the next renewal notices the end of the session.
func (b *Backend) watch(ctx context.Context, open *session) {
	const shortest = 10 * time.Millisecond
	pause, stands := shortest, false
	for {
		revision, err := b.post(ctx, open, stands)
		if err == nil {
			pause, stands = shortest, true
			err = b.follow(ctx, open, revision)
		}
		switch {
		case noLease(err), errors.Is(err, errLeaseLost):
			b.drop(open)
			return
		case driver.IsPermanent(classify(err)) || !backoff.Sleep(ctx, pause):
			return
		}
		pause = min(2*pause, open.ttl/4)
	}
}

// post puts the session's key. If the parameter stands is true, an earlier call has put the key. Then post only checks
// whether the key still exists. post returns the revision from which to watch the key.
func (b *Backend) post(ctx context.Context, open *session, stands bool) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, open.timeout())
	defer cancel()
	key := b.sessionKey(open.id)
	if !stands {
		reply, err := led(ctx, func(ctx context.Context) (*clientv3.PutResponse, error) {
			return b.client.Put(ctx, key, "", clientv3.WithLease(open.id))
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
	b.forcedRelease(open, reply.Kvs[0])
	return reply.Header.Revision + 1, nil
}

// follow watches the session's key. It returns errLeaseLost when the key is deleted. If the watch ends for another
// reason, it returns another error or nil. For example, the node has no leader, or the revision was compacted.
func (b *Backend) follow(ctx context.Context, open *session, revision int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for reply := range b.client.Watch(ctx, b.sessionKey(open.id), clientv3.WithRev(revision)) {
		if err := reply.Err(); err != nil {
			return err
		}
		for _, e := range reply.Events {
			if e.Type == clientv3.EventTypeDelete {
				return errLeaseLost
			}
			b.forcedRelease(open, e.Kv)
		}
	}
	return ctx.Err()
}

// forcedRelease ends the locks whose key a forced release has written into the session's key (kv): see ForceRelease.
// The value of kv is the key of one entry, or names all shares of a lock (see namesShares).
func (b *Backend) forcedRelease(open *session, kv *mvccpb.KeyValue) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for nonce, h := range b.holds {
		if h.session == open && h.token != 0 && h.revision < kv.ModRevision && isNamed(h, string(kv.Value)) {
			b.unlist(nonce, h)
			h.end(errForced)
		}
	}
}

// namesShares returns a text that means all shares of a lock that are older than a revision. The parameter prefix is
// the prefix of the keys of these shares.
func namesShares(prefix string, revision int64) string { return fmt.Sprintf("%s<%d", prefix, revision) }

// isNamed reports whether the text named, which a forced release has written, means the entry of h, or shares that
// include h.
func isNamed(h *hold, named string) bool {
	if h.entry == named {
		return true
	}
	at := strings.LastIndexByte(named, '<')
	if !h.shared || at < 0 || !strings.HasSuffix(named[:at], "/"+mark+sharedMark) || !strings.HasPrefix(h.entry, named[:at]) {
		return false
	}
	revision, err := strconv.ParseInt(named[at+1:], 10, 64)
	return err == nil && h.revision < revision
}

// CloseIdle implements [driver.Idler]. It stops watching sessions that hold no lock.
func (b *Backend) CloseIdle(ctx context.Context) {
	b.mu.Lock()
	idle := maps.Clone(b.sentries)
	for _, h := range b.holds {
		if h.token != 0 {
			delete(idle, h.session)
		}
	}
	for open, w := range idle { // end these sentries while mu is held, so that no new grant relies on one of them
		b.end(open, w)
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
