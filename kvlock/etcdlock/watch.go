package etcdlock

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/oneline"
)

// wait blocks until the entry before the waiter's own may have been deleted. It then calls the method look until a
// call succeeds.
func (w *waiter) wait(ctx context.Context) error {
	if err := w.watch(ctx); err != nil || w.before == nil {
		return err
	}
	pause := 10 * time.Millisecond
	for {
		inner, cancel := context.WithTimeout(ctx, w.session.timeout())
		err := w.look(inner)
		cancel()
		switch {
		case err == nil || endsWait(err):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(w.heard) > w.request.TTL:
			return oneline.Join(errSilent, err)
		}
		if !backoff.Sleep(ctx, pause) {
			return ctx.Err()
		}
		pause = min(2*pause, time.Second)
	}
}

// endsWait reports whether err is final, which means that a later call of look cannot succeed soon. A missing leader
// is not final. A full database is final, because look may have to put the key of an epoch.
func endsWait(err error) bool {
	return errors.Is(err, errEntryLost) || errors.Is(err, rpctypes.ErrNoSpace) || driver.IsPermanent(err)
}

// watch waits until the entry before the waiter's own may have been deleted, and renews the session meanwhile. It also
// returns if the watch ends for another reason. For example, its revision was compacted, or the node has no leader.
//
// The watch begins at the current revision. If the store has changed since the queue was last read, the method reads
// the queue again. A watch that begins at the revision of that last read would be slower: etcd may delay the events of
// a watch from a past revision by up to a tenth of a second.
func (w *waiter) watch(ctx context.Context) error {
	inner, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	replies := w.listen(inner)
	defer func() {
		cancel()
		for range replies { // wait until the goroutine of listen has ended
		}
	}()
	every := w.session.ttl / 4
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case reply, open := <-replies:
			stands := open && reply.Err() == nil && len(reply.Events) == 0
			if !stands || reply.Created && reply.Header.Revision > w.seen && !w.same(ctx) {
				return ctx.Err()
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-w.session.ctx.Done():
			return driver.NotApplied(errLeaseLost)
		case <-ticker.C:
			if err := w.keep(ctx, every); err != nil {
				return err
			}
			if !w.same(ctx) { // a watch on a node that hangs delivers nothing
				return ctx.Err()
			}
		}
	}
}

// listen starts the watch, and returns a channel that receives its replies. The client's Watch blocks until the watch
// is created, so it runs in a goroutine, which ends with ctx.
func (w *waiter) listen(ctx context.Context) <-chan clientv3.WatchResponse {
	replies, before := make(chan clientv3.WatchResponse), string(w.before.Key)
	go func() {
		defer close(replies)
		for reply := range w.backend.client.Watch(ctx, before, clientv3.WithCreatedNotify(), clientv3.WithFilterPut()) {
			select {
			case replies <- reply:
			case <-ctx.Done():
				return
			}
		}
	}()
	return replies
}

// same reads the queue, and reports whether the entry before the waiter's own is unchanged.
func (w *waiter) same(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, w.session.timeout())
	defer cancel()
	revision := w.before.CreateRevision
	return w.look(ctx) == nil && w.before != nil && w.before.CreateRevision == revision
}

// keep renews the session, unless another goroutine has just done so. If the session is doubted, the method also
// sweeps it, because the renewal keeps unknown entries of the session alive too.
func (w *waiter) keep(ctx context.Context, every time.Duration) error {
	if w.backend.age(w.session) < every*3/4 {
		w.heard = time.Now().Add(-w.backend.age(w.session))
		return nil
	}
	sent := time.Now()
	inner, cancel := context.WithTimeout(ctx, w.session.timeout())
	defer cancel()
	err := w.backend.beat(inner, w.session)
	switch {
	case err == nil:
		w.heard = sent
		if w.backend.doubtful(w.session) {
			w.backend.sweep(inner, w.session)
		}
	case errors.Is(err, errLeaseLost):
		return driver.NotApplied(err)
	case time.Since(w.heard) > w.request.TTL:
		return oneline.Join(errSilent, err)
	}
	return nil
}
