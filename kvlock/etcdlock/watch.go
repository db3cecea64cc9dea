package etcdlock

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/oneline"
)

// wait returns once it has looked again after something happened to the entry in front.
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

// endsWait says whether a look that failed is the last: another may go better while there is no leader, say.
func endsWait(err error) bool { return errors.Is(err, errEntryLost) || driver.IsPermanent(err) }

// watch waits until the entry in front may have gone, and keeps the session alive meanwhile. That a
// watch ends for another reason (its revision was compacted, the node has no leader) is a reason to look.
//
// It watches from now on, and looks again if the store has moved since it was last looked at: etcd lets
// whoever watches from a revision of the past wait for up to a tenth of a second.
func (w *waiter) watch(ctx context.Context) error {
	inner, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	replies := w.listen(inner)
	defer func() {
		cancel()
		for range replies { // until it has ended
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
			if !w.same(ctx) { // a watch on a node that hangs tells nothing
				return ctx.Err()
			}
		}
	}
}

// listen tells what the watch says. The client does not return before the watch stands, so this takes a
// goroutine, which ends with ctx.
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

// same looks, and says whether the entry in front is the one that it was.
func (w *waiter) same(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, w.session.timeout())
	defer cancel()
	revision := w.before.CreateRevision
	return w.look(ctx) == nil && w.before != nil && w.before.CreateRevision == revision
}

// keep has the session live on, unless somebody else has just done it. What nobody knows of would live on with it.
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
