package etcdlock

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// Acquire makes one attempt: one transaction, which puts an entry if nothing is in the way and else says
// who holds the lock. It never passes those who wait in the queue.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	end, err := b.admit(ctx, r)
	if err != nil {
		return driver.Grant{}, err
	}
	defer end()
	if r.Waiting { // a refusal costs no commit then
		reply, err := b.client.Txn(ctx).Then(b.view(r)...).Commit()
		if err != nil {
			return driver.Grant{}, ofRead(err)
		}
		if v := b.read(r, reply); v.barrier != nil && !v.granted() {
			return driver.Grant{}, refusal(v.oldest)
		}
	}
	var g driver.Grant
	err = b.onSession(ctx, r, func(s *session) error {
		g, err = b.take(ctx, r, s)
		return err
	})
	return g, err
}

// admit refuses what cannot be kept, and reserves the nonce until end is called.
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
	return driver.Permanent(fmt.Errorf("etcdlock: %s: a lock in etcd is free as soon as its key is gone; etcd cannot keep it closed", option))
}

// onSession runs write, which puts an entry, on a session, and once more on a new one if etcd has
// forgotten that.
func (b *Backend) onSession(ctx context.Context, r driver.Request, write func(*session) error) error {
	for again := true; ; again = false {
		s, err := b.session(ctx, r.TTL)
		if err != nil {
			return ofRead(err)
		}
		err = write(s)
		if !noLease(err) {
			var held *driver.Held
			if err != nil && !errors.As(err, &held) && !driver.IsNotApplied(err) {
				b.doubt(s)
			}
			return err
		}
		b.drop(s)
		if !again {
			return driver.NotApplied(err)
		}
	}
}

func (b *Backend) take(ctx context.Context, r driver.Request, s *session) (driver.Grant, error) {
	mine := b.entry(r.Key, r.Nonce)
	free := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(b.barrier(r.Key)), "=", 0).WithPrefix()}
	if b.shared { // whose own entry is no barrier, and must not be written twice
		free = append(free, clientv3.Compare(clientv3.CreateRevision(mine), "=", 0))
	}
	reply, err := b.client.Txn(ctx).
		If(free...).
		Then(clientv3.OpPut(mine, value{r.Holder, r.Note}.String(), clientv3.WithLease(s.id))).
		Else(b.view(r)...).
		Commit()
	if err != nil {
		return driver.Grant{}, classify(err)
	}
	if reply.Succeeded {
		return b.hold(r, driver.Token(reply.Header.Revision), s), nil
	}
	v := b.read(r, reply)
	if !v.granted() {
		return driver.Grant{}, refusal(v.oldest)
	}
	return b.adopt(ctx, r, v.mine)
}

// adopt makes a grant of an entry that an earlier request of the same nonce has left.
func (b *Backend) adopt(ctx context.Context, r driver.Request, mine *mvccpb.KeyValue) (driver.Grant, error) {
	s, err := b.sessionOf(ctx, r, mine)
	if err != nil {
		return driver.Grant{}, err
	}
	return b.hold(r, driver.Token(mine.CreateRevision), s), nil
}

// sessionOf is the session that an entry of ours lives on, alive for the TTL from now on. An entry
// whose session has ended is about to go as well.
func (b *Backend) sessionOf(ctx context.Context, r driver.Request, mine *mvccpb.KeyValue) (*session, error) {
	b.mu.Lock()
	s := b.sessions[clientv3.LeaseID(mine.Lease)]
	b.mu.Unlock()
	if s == nil {
		return nil, driver.NotApplied(errLeaseLost)
	}
	err := b.ensure(ctx, s, min(r.TTL, s.ttl))
	if s.ctx.Err() != nil {
		return nil, driver.NotApplied(errLeaseLost)
	}
	return s, err
}
