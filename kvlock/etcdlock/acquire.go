package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Acquire makes one attempt, in one transaction. If the lock is free, the transaction puts the key of the entry and
// reads the lock's last tick (see rowlock.Once). Otherwise the transaction reads the queue. Acquire never overtakes
// waiters in the queue.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := b.admit(ctx, r); err != nil {
		return driver.Grant{}, err
	}
	defer b.rest(r.Nonce)
	var g driver.Grant
	err := b.onSession(ctx, r, func(e *entry) (err error) {
		g, err = b.take(ctx, r, e)
		return err
	})
	return g, err
}

// admit refuses a request with an option that etcd cannot implement.
func (b *Backend) admit(ctx context.Context, r driver.Request) error {
	switch {
	case b.err != nil:
		return driver.Permanent(b.err)
	case r.MinHold > 0:
		return cannotKeep("MinHold")
	case r.HandoverDelay > 0:
		return cannotKeep("HandoverDelay")
	case ctx.Err() != nil:
		return driver.NotApplied(ctx.Err())
	}
	return nil
}

func cannotKeep(option string) error {
	return driver.Permanent(fmt.Errorf("etcdlock: %s is not supported: a lock in etcd is free as soon as its key is deleted, so etcd cannot delay the next grant", option))
}

// onSession calls the function write, which puts the key of an entry. If etcd no longer has the session's lease,
// onSession retries once on a new session.
func (b *Backend) onSession(ctx context.Context, r driver.Request, write func(*entry) error) error {
	for again := true; ; again = false {
		e, err := b.enter(ctx, r)
		if err != nil {
			return ofRead(err)
		}
		err = write(e)
		switch {
		case noLease(err):
			b.drop(e.session)
			if again {
				continue
			}
			return driver.NotApplied(err)
		case errors.Is(err, rpctypes.ErrNoSpace):
			// The failed request may have put the key: etcd executes the request that uses up its space, and still answers
			// "no space" (quotaApplierV3 in server/etcdserver/apply). A deletion needs no space.
			return b.withdraw(ctx, e, err)
		}
		return b.outcome(e, err)
	}
}

// outcome classifies the error of a request that may have put the key of e, and records what it means for e.
func (b *Backend) outcome(e *entry, err error) error {
	var held *driver.Held
	if err == nil || errors.As(err, &held) {
		return err
	}
	err = classify(err)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !driver.IsNotApplied(err):
		e.session.doubted = true
	case e.token == 0 && !e.session.doubted: // no earlier request has put the key, and none will
		b.strike(e)
	}
	return err
}

// withdraw deletes the key of an entry whose request failed with err, even if ctx has ended. It returns err, marked as not
// applied if the key certainly does not exist.
func (b *Backend) withdraw(ctx context.Context, e *entry, err error) error {
	if !errors.Is(err, errEntryLost) && !errors.Is(err, errLeaseLost) {
		const limit = time.Second
		inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		if failed := b.delete(inner, e.path); failed != nil {
			b.leaves(e)
			return oneline.Join(ctx.Err(), fmt.Errorf("etcdlock: the key in the queue was not deleted: %v", err)) //nolint:errorlint // err does not say whether the key exists
		}
	}
	b.forget(e)
	return ofRead(err)
}

func (b *Backend) take(ctx context.Context, r driver.Request, e *entry) (driver.Grant, error) {
	free := []clientv3.Cmp{absent(b.barrier(r)).WithPrefix()}
	then := []clientv3.Op{put(e, r), clientv3.OpDelete(b.epochKey(r.Key)), b.marks(r.Key)}
	if r.Shared { // b.barrier covers only exclusive entries here, so also check that the request's own key does not exist
		free = append(free, absent(e.path))
		then[1] = b.join(r.Key)
	}
	reply, err := b.commit(ctx, free, then, b.view(r.Key))
	if err != nil {
		return driver.Grant{}, err
	}
	if reply.Succeeded {
		last, epoch := b.marksOf(reply)
		token := driver.Token(reply.Header.Revision)
		if r.Shared {
			token = epoch
		}
		return b.grant(e, r, token, reply.Header.Revision, last), nil
	}
	v := b.viewOf(reply)
	mine, blocked := v.find(e)
	switch {
	case mine == nil:
		b.forget(e)
		return driver.Grant{}, v.held(r)
	case blocked:
		return driver.Grant{}, v.held(r)
	}
	// An earlier request of the same nonce was granted.
	token, err := b.settle(ctx, e, mine.CreateRevision, v.epoch)
	if err != nil {
		return driver.Grant{}, b.withdraw(ctx, e, err)
	}
	return b.grant(e, r, token, mine.CreateRevision, v.tick), nil
}
