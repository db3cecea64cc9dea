package etcdlock

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// AcquireQueued puts an entry at the end of the queue, and waits for the one before it to go, and for
// no other: when a holder goes, one waiter wakes. Who shares waits for the last one before it that does
// not, so that all of them wake together. It waits until ctx ends, or for as long as etcd says
// nothing for r.TTL. Whoever leaves takes the entry back.
func (b *Backend) AcquireQueued(ctx context.Context, r driver.Request) (driver.Grant, error) {
	end, err := b.admit(ctx, r)
	if err != nil {
		return driver.Grant{}, err
	}
	defer end()
	w := &waiter{backend: b, request: r, heard: time.Now()}
	if err := b.onSession(ctx, r, func(s *session) error { return w.enter(ctx, s) }); err != nil {
		return driver.Grant{}, w.leave(ctx, err)
	}
	for w.before != nil {
		if err := w.wait(ctx); err != nil {
			return driver.Grant{}, w.leave(ctx, err)
		}
	}
	return b.hold(r, driver.Token(w.revision), w.session), nil
}

// waiter is one place in the queue.
type waiter struct {
	backend  *Backend
	request  driver.Request
	entry    string
	session  *session
	revision int64            // that created the entry
	before   *mvccpb.KeyValue // the youngest of those in front that keep ours from being granted
	seen     int64            // the revision at which that was so
	heard    time.Time        // before the last request that etcd answered was sent
}

// enter puts the entry, and learns in the same transaction who stands in front of it.
func (w *waiter) enter(ctx context.Context, s *session) error {
	b := w.backend
	w.entry = b.enlist(w.request, s)
	sent := time.Now()
	reply, err := b.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(w.entry), "=", 0)).
		Then(clientv3.OpGet(b.barrier(w.request.Key), clientv3.WithLastCreate()...),
			clientv3.OpPut(w.entry, value{w.request.Holder, w.request.Note}.String(), clientv3.WithLease(s.id))).
		Else(clientv3.OpGet(w.entry)).
		Commit()
	if err != nil {
		return classify(err)
	}
	w.heard, w.seen, w.session = sent, reply.Header.Revision, s
	if reply.Succeeded {
		w.revision = reply.Header.Revision
		if last := reply.Responses[0].GetResponseRange().Kvs; len(last) > 0 {
			w.before = last[0]
		}
		return nil
	}
	w.revision = reply.Responses[0].GetResponseRange().Kvs[0].CreateRevision
	return w.look(ctx)
}

// look finds who stands in front of the entry now, and proves that the entry is still there: one
// transaction that only reads.
func (w *waiter) look(ctx context.Context) error {
	sent := time.Now()
	reply, err := w.backend.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(w.entry), "=", w.revision)).
		Then(clientv3.OpGet(w.backend.barrier(w.request.Key), append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(w.revision-1))...)).
		Commit()
	if err != nil {
		return classify(err)
	}
	if !reply.Succeeded {
		return driver.NotApplied(errEntryLost)
	}
	w.heard, w.seen, w.before = sent, reply.Header.Revision, nil
	if found := reply.Responses[0].GetResponseRange().Kvs; len(found) > 0 {
		w.before = found[0]
	}
	return nil
}

// wait returns once it has looked again after something happened to the entry in front.
func (w *waiter) wait(ctx context.Context) error {
	if err := w.watch(ctx); err != nil || w.before == nil {
		return err
	}
	pause := 10 * time.Millisecond
	for {
		inner, cancel := context.WithTimeout(ctx, w.timeout())
		err := w.look(inner)
		cancel()
		switch {
		case err == nil || driver.IsNotApplied(err):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(w.heard) > w.request.TTL:
			return errors.Join(errSilent, err)
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
		pause = min(2*pause, time.Second)
	}
}

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
	ctx, cancel := context.WithTimeout(ctx, w.timeout())
	defer cancel()
	revision := w.before.CreateRevision
	return w.look(ctx) == nil && w.before != nil && w.before.CreateRevision == revision
}

// keep has the session live on, unless somebody else has just done it.
func (w *waiter) keep(ctx context.Context, every time.Duration) error {
	if w.backend.age(w.session) < every*3/4 {
		w.heard = time.Now().Add(-w.backend.age(w.session))
		return nil
	}
	sent := time.Now()
	inner, cancel := context.WithTimeout(ctx, w.timeout())
	defer cancel()
	err := w.backend.beat(inner, w.session)
	switch {
	case err == nil:
		w.heard = sent
	case errors.Is(err, errLeaseLost):
		return driver.NotApplied(err)
	case time.Since(w.heard) > w.request.TTL:
		return errors.Join(errSilent, err)
	}
	return nil
}

// timeout of one request: short enough for several before the session ends.
func (w *waiter) timeout() time.Duration { return min(w.session.ttl/6, 5*time.Second) }

// leave takes the entry back, whatever became of ctx, and says in err whether it is gone for certain.
func (w *waiter) leave(ctx context.Context, err error) error {
	if driver.IsNotApplied(err) {
		w.backend.strike(w.request)
		return err
	}
	const limit = time.Second
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if _, failed := w.backend.client.Delete(inner, w.entry); failed == nil && w.session != nil {
		w.backend.strike(w.request)
		return driver.NotApplied(err)
	}
	if w.session != nil {
		w.backend.doubt(w.request, w.session)
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
