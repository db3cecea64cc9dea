package etcdlock

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// Acquire makes one attempt, in one transaction. If the lock is free, the transaction puts an entry (the key of one
// acquisition, see key.go) and reads the lock's last tick (see rowlock.Once). Otherwise the transaction reads the
// holder's entry. If readers hold the lock, a second request counts them. Acquire never overtakes waiters in the
// queue.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	end, err := b.admit(ctx, r)
	if err != nil {
		return driver.Grant{}, err
	}
	defer end()
	ctx = undated{ctx}
	var g driver.Grant
	err = b.onSession(ctx, r, func(s *session) error {
		g, err = b.take(ctx, r, s)
		return err
	})
	return g, err
}

// admit refuses a request with an option that etcd cannot implement. Otherwise it reserves the request's nonce until
// the caller calls the function end.
func (b *Backend) admit(ctx context.Context, r driver.Request) (end func(), err error) {
	switch {
	case b.err != nil:
		return nil, driver.Permanent(b.err)
	case r.MinHold > 0:
		return nil, cannotKeep("MinHold")
	case r.HandoverDelay > 0:
		return nil, cannotKeep("HandoverDelay")
	case ctx.Err() != nil:
		return nil, driver.NotApplied(ctx.Err())
	case !b.begin(r.Nonce):
		return nil, driver.NotApplied(errBusy)
	}
	return func() { b.done(r.Nonce) }, nil
}

func cannotKeep(option string) error {
	return driver.Permanent(fmt.Errorf("etcdlock: %s is not supported: a lock in etcd is free as soon as its key is deleted, so etcd cannot delay the next grant", option))
}

// onSession calls the function write on a session, and that function puts an entry. If an earlier request of the same
// nonce may have left an entry on a session, onSession uses that session. Otherwise it uses the session for new locks.
// If etcd no longer has the session's lease, onSession retries once on a new session.
func (b *Backend) onSession(ctx context.Context, r driver.Request, write func(*session) error) error {
	for again := true; ; again = false {
		s, err := b.sessionFor(ctx, r)
		if err != nil {
			return ofRead(err)
		}
		err = write(s)
		if errors.Is(err, rpctypes.ErrNoSpace) {
			err = b.undo(ctx, r, err)
		}
		if !noLease(err) {
			var held *driver.Held
			if err != nil && !errors.As(err, &held) && !driver.IsNotApplied(err) {
				b.doubt(r, s)
			}
			return err
		}
		b.drop(s)
		if !again {
			return driver.NotApplied(err)
		}
	}
}

// undo deletes the entry of a request that failed with err, because the failed request may have put the entry. For
// example, etcd executes the request that uses up its space, and still answers "no space" (quotaApplierV3 in
// server/etcdserver/apply). undo works on a full store, because a deletion needs no space.
func (b *Backend) undo(ctx context.Context, r driver.Request, err error) error {
	if h := b.enlisted(r); h != nil {
		if _, failed := b.delete(ctx, h.entry); failed != nil {
			return err
		}
		b.forgetAbsent(r)
	}
	return driver.NotApplied(err)
}

func (b *Backend) sessionFor(ctx context.Context, r driver.Request) (*session, error) {
	if h := b.enlisted(r); h != nil {
		err := b.ensure(ctx, h.session, min(r.TTL, h.session.ttl))
		if err == nil || h.session.ctx.Err() == nil {
			return h.session, err
		}
	}
	return b.session(ctx, r.TTL)
}

func (b *Backend) take(ctx context.Context, r driver.Request, s *session) (driver.Grant, error) {
	mine := b.enlist(r, s)
	free := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(b.barrier(r)), "=", 0).WithPrefix()}
	put := clientv3.OpPut(mine, value{r.Holder, r.Note}.String(), clientv3.WithLease(s.id))
	then := []clientv3.Op{put, b.recorded(r.Key)}
	if r.Shared { // b.barrier covers only exclusive entries here, so also check that the request's own entry does not exist
		free = append(free, clientv3.Compare(clientv3.CreateRevision(mine), "=", 0))
		then = append(then, b.join(r.Key)...)
	} else {
		then = append(then, clientv3.OpDelete(b.epochKey(r.Key)))
	}
	reply, err := b.commit(ctx, free, then, b.view(r, mine))
	if err != nil {
		if err = classify(err); driver.IsNotApplied(err) {
			b.forgetAbsent(r)
		}
		return driver.Grant{}, err
	}
	if reply.Succeeded {
		revision := reply.Header.Revision
		token := driver.Token(revision)
		if r.Shared {
			token = epochOf(reply, len(then)-1)
		}
		return b.hold(r, token, revision, s, tickOf(reply, 1)), nil
	}
	v := b.read(r, mine, reply)
	switch {
	case v.granted(): // an earlier request of the same nonce was granted
		revision := v.mine.CreateRevision
		token, err := b.settle(ctx, r, mine, revision, v.epoch)
		if err != nil {
			if errors.Is(err, errEntryLost) {
				b.forgetAbsent(r)
			}
			return driver.Grant{}, err // never marked as not applied: this request changed nothing, but the entry of the earlier request exists
		}
		return b.hold(r, token, revision, s, v.tick), nil
	case v.mine == nil:
		b.forgetAbsent(r)
	}
	return driver.Grant{}, b.refusal(ctx, r, v.oldest)
}
