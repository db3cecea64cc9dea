package etcdlock

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Await implements [driver.Awaiter]. It puts a key at the end of the queue. If other keys are before this key, Await
// calls the function wait. It then waits only until the last of those keys is deleted. So a release wakes one waiter. A
// shared request waits for the last exclusive key before its own, so that adjacent readers wake together. Await gives up
// when the context that wait returned ends, or when etcd has not answered for r.TTL. It then deletes its key.
func (b *Backend) Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	if err := b.admit(ctx, r); err != nil {
		return driver.Grant{}, err
	}
	defer b.rest(r.Nonce)
	w := &waiter{backend: b, request: r, heard: time.Now()}
	if err := b.onSession(ctx, r, func(e *entry) error { return w.enter(ctx, e) }); err != nil {
		return driver.Grant{}, err
	}
	held, err := w.begin(ctx)
	if held != nil {
		ctx = wait(held)
	}
	if err == nil && w.token == 0 {
		err = w.wait(ctx)
	}
	if err != nil {
		return driver.Grant{}, b.withdraw(ctx, w.entry, err)
	}
	return b.grant(w.entry, r, w.token, w.revision, w.tick), nil
}

// waiter is one waiting request.
type waiter struct {
	backend  *Backend
	request  driver.Request
	entry    *entry
	revision int64        // the create revision of the waiter's key
	token    driver.Token // zero until the lock is granted
	heard    time.Time    // when the last request that etcd answered was sent

	// What the last read of the queue found.
	seen   int64            // the revision of that read; zero if there was none
	before *mvccpb.KeyValue // the youngest key that blocks this waiter, or nil
	alone  bool             // before is the only key that blocks this waiter
	tick   tick
	epoch  driver.Token

	// The watch of the key before.
	watched int64 // the create revision of the watched key
	replies <-chan clientv3.WatchResponse
	unwatch func() // ends the watch
}

// enter puts the waiter's key. The same transaction reads the last key that blocks the waiter.
func (w *waiter) enter(ctx context.Context, e *entry) error {
	b, r := w.backend, w.request
	then := []clientv3.Op{clientv3.OpGet(b.barrier(r), clientv3.WithLastCreate()...), put(e, r)}
	if r.Shared {
		then = append(then, b.join(r.Key, absent(b.barrier(r)).WithPrefix()))
	}
	sent := time.Now()
	reply, err := b.commit(ctx, []clientv3.Cmp{absent(e.path)}, append(then, b.marks(r.Key)), []clientv3.Op{clientv3.OpGet(e.path)})
	if err != nil {
		return err
	}
	w.entry, w.heard = e, sent
	if reply.Succeeded {
		w.revision = reply.Header.Revision
		w.read(reply)
	} else { // an earlier request of the same nonce has put the key
		w.revision = reply.Responses[0].GetResponseRange().Kvs[0].CreateRevision
	}
	return nil
}

// read decodes a reply whose first operation reads the last key that blocks the waiter, and whose last operation reads
// the marks of the lock.
func (w *waiter) read(reply *clientv3.TxnResponse) {
	found := reply.Responses[0].GetResponseRange()
	w.seen, w.before, w.alone = reply.Header.Revision, nil, found.Count == 1
	if len(found.Kvs) > 0 {
		w.before = found.Kvs[0]
	}
	w.tick, w.epoch = w.backend.marksOf(reply)
}

// look reads which key blocks the waiter now, and proves that the waiter's own key still exists. It does so in one
// read-only transaction. If no key blocks the waiter, look makes the grant.
func (w *waiter) look(ctx context.Context) error {
	b, r := w.backend, w.request
	last := clientv3.OpGet(b.barrier(r), append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(w.revision-1))...)
	sent := time.Now()
	reply, err := b.commit(ctx, []clientv3.Cmp{created(w.entry.path, w.revision)}, []clientv3.Op{last, b.marks(r.Key)}, nil)
	switch {
	case err != nil:
		return classify(err)
	case !reply.Succeeded:
		return driver.NotApplied(errEntryLost)
	}
	w.heard = sent
	w.read(reply)
	if w.before != nil {
		return nil
	}
	return w.settle(ctx)
}

// settle makes the grant, if the last read of the queue has found no key that blocks the waiter.
func (w *waiter) settle(ctx context.Context) (err error) {
	w.token, err = w.backend.settle(ctx, w.entry, w.revision, w.epoch)
	return classify(err)
}

// begin makes the grant if no key blocks the waiter. Otherwise it describes the holder.
func (w *waiter) begin(ctx context.Context) (*driver.Held, error) {
	if w.seen == 0 {
		if err := w.look(ctx); err != nil || w.token != 0 {
			return nil, err
		}
	}
	if w.before == nil {
		return nil, w.settle(ctx)
	}
	b, oldest := w.backend, w.before
	if !w.alone || w.request.Shared || !isExclusive(oldest) {
		sent := time.Now()
		reply, err := b.get(ctx, b.queue(w.request.Key), clientv3.WithFirstCreate()...)
		switch {
		case err != nil:
			return nil, err
		case len(reply.Kvs) == 0: // the waiter's own key does not exist either
			return nil, driver.NotApplied(errEntryLost)
		case reply.Kvs[0].CreateRevision > w.before.CreateRevision: // no key blocks the waiter any longer
			return nil, w.look(ctx)
		}
		w.heard, oldest = sent, reply.Kvs[0]
	}
	if isExclusive(oldest) {
		return view{queue: []*mvccpb.KeyValue{oldest}}.held(w.request), nil
	}
	v, err := b.inspect(ctx, w.request.Key) // counts the readers
	if err != nil {
		return nil, err
	}
	return v.held(w.request), nil
}

// wait blocks until the lock is granted. It watches the key before the waiter's own, and reads the queue when that key
// may have been deleted. It also renews the session and reads the queue several times per TTL (see times), because a watch on a node
// that hangs delivers nothing.
func (w *waiter) wait(ctx context.Context) error {
	every := w.entry.session.ttl / time.Duration(w.backend.times.checks)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	defer w.stop()
	for w.token == 0 {
		w.watch(ctx)
		select {
		case reply, open := <-w.replies:
			switch {
			case !open || reply.Err() != nil: // for example, its revision was compacted, or the node has no leader
				w.stop()
			case reply.Created && reply.Header.Revision <= w.seen:
				continue
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-w.entry.session.ctx.Done():
			return driver.NotApplied(errLeaseLost)
		case <-ticker.C:
			if err := w.keep(ctx, every); err != nil {
				return err
			}
		}
		if err := w.retry(ctx); err != nil {
			return err
		}
	}
	return nil
}

// watch starts a watch of the key before, unless there is one. The client's Watch blocks until the watch is created, so
// it runs in a goroutine, which ends with the watch.
//
// The watch begins at the current revision. If the store has changed since the queue was last read, the waiter reads
// the queue again. A watch that begins at the revision of that last read would be slower: etcd may delay the events of
// a watch from a past revision by up to a tenth of a second.
func (w *waiter) watch(ctx context.Context) {
	if w.replies != nil && w.watched == w.before.CreateRevision {
		return
	}
	w.stop()
	ctx, w.unwatch = context.WithCancel(clientv3.WithRequireLeader(ctx))
	replies, key := make(chan clientv3.WatchResponse), string(w.before.Key)
	w.replies, w.watched = replies, w.before.CreateRevision
	go func() {
		defer close(replies)
		for reply := range w.backend.client.Watch(ctx, key, clientv3.WithCreatedNotify(), clientv3.WithFilterPut()) {
			select {
			case replies <- reply:
			case <-ctx.Done():
				return
			}
		}
	}()
}

// stop ends the watch, and returns when its goroutine has ended.
func (w *waiter) stop() {
	if w.replies != nil {
		w.unwatch()
		for range w.replies {
		}
		w.replies = nil
	}
}

// retry calls the method look until a call succeeds. A missing leader is not final. A full database is final, because
// look may have to put the key of an epoch.
func (w *waiter) retry(ctx context.Context) error {
	pause := 10 * time.Millisecond
	for {
		inner, cancel := context.WithTimeout(ctx, w.entry.session.timeout())
		err := w.look(inner)
		cancel()
		switch {
		case err == nil, errors.Is(err, errEntryLost), errors.Is(err, rpctypes.ErrNoSpace), driver.IsPermanent(err):
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

// keep renews the session, unless another goroutine has just done so. It returns an error only if the session has ended.
func (w *waiter) keep(ctx context.Context, every time.Duration) error {
	if w.backend.age(w.entry.session) < every*3/4 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.entry.session.timeout())
	defer cancel()
	if err := w.backend.beat(ctx, w.entry.session); errors.Is(err, errLeaseLost) {
		return driver.NotApplied(err)
	}
	return nil
}
