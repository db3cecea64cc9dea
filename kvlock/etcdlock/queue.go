package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Await implements [driver.Awaiter]. It puts an entry at the end of the queue. If other entries are before this entry,
// Await calls the function wait. It then waits only until the last of those entries is deleted. So a release wakes one
// waiter. A shared request waits for the last exclusive entry before its own, so that adjacent readers wake together.
// Await gives up when the context that wait returned ends, or when etcd has not answered for r.TTL. It then deletes its
// entry.
func (b *Backend) Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	end, err := b.admit(ctx, r)
	if err != nil {
		return driver.Grant{}, err
	}
	defer end()
	ctx = undated{ctx}
	w := &waiter{backend: b, request: r, heard: time.Now()}
	if err := b.onSession(ctx, r, func(s *session) error { return w.enter(ctx, s) }); err != nil {
		return driver.Grant{}, w.leave(ctx, err)
	}
	if w.before != nil {
		held, err := w.refusal(ctx)
		if err != nil {
			return driver.Grant{}, w.leave(ctx, err)
		}
		if held != nil {
			ctx = wait(held)
		}
	}
	for w.before != nil {
		if err := w.wait(ctx); err != nil {
			return driver.Grant{}, w.leave(ctx, err)
		}
	}
	return b.hold(r, w.token, w.revision, w.session, w.tick), nil
}

// waiter is one waiting request and its entry in the queue.
type waiter struct {
	backend  *Backend
	request  driver.Request
	entry    string
	session  *session
	revision int64            // the entry's create revision
	before   *mvccpb.KeyValue // the youngest entry that blocks this waiter; nil if no entry blocks it
	token    driver.Token     // valid if w.before is nil
	holds    bool             // whether w.before is certainly the holder's entry, because it is exclusive and was the only entry
	tick     tick             // the tick of the lock; valid if w.before is nil
	seen     int64            // the revision of the last read of the queue
	heard    time.Time        // when the last request that etcd answered was sent
}

// enter puts the waiter's entry. The same transaction reads the last entry that blocks the waiter.
func (w *waiter) enter(ctx context.Context, s *session) error {
	b := w.backend
	w.entry = b.enlist(w.request, s)
	epoch := []clientv3.Op{b.epoch(w.request.Key)}
	if w.request.Shared {
		epoch = b.join(w.request.Key, clientv3.Compare(clientv3.CreateRevision(b.barrier(w.request)), "=", 0).WithPrefix())
	}
	sent := time.Now()
	reply, err := b.commit(ctx,
		[]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(w.entry), "=", 0)},
		append([]clientv3.Op{
			clientv3.OpGet(b.barrier(w.request), clientv3.WithLastCreate()...),
			clientv3.OpPut(w.entry, value{w.request.Holder, w.request.Note}.String(), clientv3.WithLease(s.id)),
			b.recorded(w.request.Key),
		}, epoch...),
		[]clientv3.Op{clientv3.OpGet(w.entry)})
	if err != nil {
		return classify(err)
	}
	w.heard, w.seen, w.session = sent, reply.Header.Revision, s
	if reply.Succeeded {
		w.revision = reply.Header.Revision
		if found := reply.Responses[0].GetResponseRange(); len(found.Kvs) > 0 {
			w.before = found.Kvs[0]
			w.holds = found.Count == 1 && !w.request.Shared && isExclusive(string(w.before.Key))
			return nil
		}
		return w.settle(ctx, epochOf(reply, len(reply.Responses)-1), tickOf(reply, 2))
	}
	w.revision = reply.Responses[0].GetResponseRange().Kvs[0].CreateRevision
	return w.look(ctx)
}

// look reads which entry blocks the waiter now, and proves that the waiter's own entry still exists. It does so in one
// read-only transaction. If no entry blocks the waiter, look makes the grant.
func (w *waiter) look(ctx context.Context) error {
	sent := time.Now()
	last := clientv3.OpGet(w.backend.barrier(w.request), append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(w.revision-1))...)
	reply, err := w.backend.commit(ctx, []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(w.entry), "=", w.revision)}, []clientv3.Op{last, w.backend.recorded(w.request.Key), w.backend.epoch(w.request.Key)}, nil)
	if err != nil {
		return classify(err)
	}
	if !reply.Succeeded {
		return driver.NotApplied(errEntryLost)
	}
	w.heard, w.seen = sent, reply.Header.Revision
	if found := reply.Responses[0].GetResponseRange().Kvs; len(found) > 0 {
		w.before = found[0]
		return nil
	}
	return w.settle(ctx, epochOf(reply, 2), tickOf(reply, 1))
}

// settle makes the waiter's grant. If that fails, w.before stays set, so that the waiter reads the queue again.
func (w *waiter) settle(ctx context.Context, epoch driver.Token, last tick) error {
	token, err := w.backend.settle(ctx, w.request, w.entry, w.revision, epoch)
	if err != nil {
		return classify(err)
	}
	w.before, w.token, w.tick = nil, token, last
	return nil
}

// refusal describes the holder. It returns nil if no entry blocks the waiter any longer.
func (w *waiter) refusal(ctx context.Context) (*driver.Held, error) {
	if w.holds {
		return w.backend.refusal(ctx, w.request, w.before), nil
	}
	sent := time.Now()
	oldest, err := w.backend.oldest(ctx, w.request.Key)
	switch {
	case err != nil:
		return nil, err
	case oldest == nil: // the waiter's own entry does not exist either
		return nil, driver.NotApplied(errEntryLost)
	}
	w.heard = sent
	readers := w.request.Shared && !isExclusive(string(oldest.Key)) && oldest.CreateRevision > w.before.CreateRevision
	if readers || oldest.CreateRevision == w.revision { // the entry before the waiter's own has been deleted
		if err := w.look(ctx); err != nil || w.before == nil {
			return nil, err
		}
	}
	return w.backend.refusal(ctx, w.request, oldest), nil
}

// leave deletes the waiter's entry, even if ctx has ended. It returns err, marked as not applied if the entry is
// certainly deleted.
func (w *waiter) leave(ctx context.Context, err error) error {
	gone := w.session == nil || errors.Is(err, errEntryLost) || errors.Is(err, errLeaseLost)
	if gone && driver.IsNotApplied(err) {
		w.backend.forgetAbsent(w.request)
		return err
	}
	const limit = time.Second
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	_, failed := w.backend.delete(inner, w.entry)
	if w.session == nil { // a late request may still put the entry
		return err
	}
	if failed == nil {
		w.backend.forgetAbsent(w.request)
		return ofRead(err)
	}
	w.backend.doubt(w.request, w.session)
	return oneline.Join(ctx.Err(), fmt.Errorf("etcdlock: the entry in the queue was not deleted: %v", err)) //nolint:errorlint // err does not say whether the entry exists
}
