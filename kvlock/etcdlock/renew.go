package etcdlock

import (
	"context"
	"slices"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// Renew renews the sessions of the grants, and proves that each of their entries still exists. For each session it
// sends two concurrent requests, and one more for each further hundred grants. These requests commit nothing.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	outcomes := make([]driver.Outcome, len(grants))
	holds := make([]*hold, len(grants))
	bySession := make(map[*session][]int)
	for i, g := range grants {
		switch h := b.held(g); {
		case h == nil || b.isLeaving(h):
			outcomes[i] = driver.Lost
		case g.TTL <= h.session.ttl:
			holds[i] = h
			bySession[h.session] = append(bySession[h.session], i)
		}
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var failure error
	for s, of := range bySession {
		group.Go(func() {
			if err := b.renew(ctx, s, grants, holds, of, outcomes); err != nil {
				mu.Lock()
				failure = err
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if failure != nil && !slices.ContainsFunc(outcomes, func(o driver.Outcome) bool { return o != driver.Unknown }) {
		return nil, failure
	}
	return outcomes, nil
}

// renew sets the outcomes of the grants of one session. The parameter "of" contains the indexes of these grants.
func (b *Backend) renew(ctx context.Context, s *session, grants []driver.Grant, holds []*hold, of []int, outcomes []driver.Outcome) error {
	const part = 100 // a transaction may have 128 comparisons
	var group sync.WaitGroup
	var beat error
	group.Go(func() { beat = b.beat(ctx, s) })
	found := make([]driver.Outcome, len(outcomes))
	errs := make([]error, (len(of)+part-1)/part)
	for n := range errs {
		some := of[n*part : min((n+1)*part, len(of))]
		group.Go(func() { errs[n] = b.prove(ctx, holds, some, found) })
	}
	group.Wait()
	if s.ctx.Err() != nil {
		for _, i := range of {
			outcomes[i] = driver.Lost
		}
		return nil
	}
	err := beat
	for n, failed := range errs {
		if failed != nil {
			err = failed
			continue
		}
		for _, i := range of[n*part : min((n+1)*part, len(of))] {
			if found[i] == driver.Lost {
				b.forget(grants[i])
			}
			if beat == nil || found[i] == driver.Lost {
				outcomes[i] = found[i]
			}
		}
	}
	if err == nil && b.doubtful(s) {
		b.sweep(ctx, s)
	}
	return err
}

// prove sets the outcomes of the grants with the given indexes. The outcome is Renewed if the entry still exists as it
// was granted, and Lost if not.
func (b *Backend) prove(ctx context.Context, holds []*hold, indexes []int, outcomes []driver.Outcome) error {
	same := make([]clientv3.Cmp, len(indexes))
	gets := make([]clientv3.Op, len(indexes))
	for n, i := range indexes {
		same[n] = b.granted(holds[i])
		gets[n] = clientv3.OpGet(holds[i].entry, clientv3.WithKeysOnly())
	}
	reply, err := b.commit(ctx, same, []clientv3.Op{clientv3.OpGet(holds[indexes[0]].entry, clientv3.WithCountOnly())}, gets)
	if err != nil {
		return err
	}
	for n, i := range indexes {
		outcomes[i] = driver.Renewed
		if !reply.Succeeded {
			kvs := reply.Responses[n].GetResponseRange().Kvs
			if len(kvs) == 0 || kvs[0].CreateRevision != b.revision(holds[i]) {
				outcomes[i] = driver.Lost
			}
		}
	}
	return nil
}

func (b *Backend) doubtful(s *session) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.doubted
}

// sweep deletes the entries of a doubted session that belong to no known acquisition. A session is doubted if a request
// on it got no reply. etcd may execute that request after its caller has given up. The entry would then live as long as
// the session.
//
// sweep reads the entry's revision, then checks that no acquisition wants the entry, and deletes only that revision. A
// later revision may belong to an acquisition that began before the session was doubted, and that reuses the key. sweep
// does not delete a paused entry.
func (b *Backend) sweep(ctx context.Context, s *session) {
	lease, err := b.client.TimeToLive(ctx, s.id, clientv3.WithAttachedKeys())
	if err != nil {
		return // the next renewal retries
	}
	for _, key := range lease.Keys {
		entry := string(key)
		if entry == b.sessionKey(s.id) {
			continue
		}
		if nonce, known := b.ownerOf(entry); known && b.wanted(nonce) {
			continue
		}
		found, err := b.client.Get(ctx, entry, clientv3.WithKeysOnly())
		if err != nil || len(found.Kvs) == 0 {
			continue
		}
		nonce, known := b.ownerOf(entry)
		if known && !b.begin(nonce) {
			continue
		}
		if !b.wanted(nonce) {
			same := clientv3.Compare(clientv3.CreateRevision(entry), "=", found.Kvs[0].CreateRevision)
			unpaused := clientv3.Compare(clientv3.LeaseValue(entry), "=", s.id)
			_, _ = b.client.Txn(ctx).If(same, unpaused).Then(clientv3.OpDelete(entry)).Commit()
		}
		b.done(nonce)
	}
}

// ownerOf returns the nonce of the acquisition to which an entry belongs.
func (b *Backend) ownerOf(entry string) (driver.Nonce, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for nonce, h := range b.holds {
		if h.entry == entry {
			return nonce, true
		}
	}
	return driver.Nonce{}, false
}

// wanted reports whether an acquisition was granted and is not being released.
func (b *Backend) wanted(nonce driver.Nonce) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.holds[nonce]
	return h != nil && h.token != 0 && !h.leaving
}
