package etcdlock

import (
	"context"
	"slices"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// Renew keeps the sessions of the grants alive, and proves that each of their entries is still there:
// two requests at the same moment for each session, however many grants, of which neither commits
// anything. (More than a hundred entries are read in parts.)
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	outcomes := make([]driver.Outcome, len(grants))
	bySession := make(map[*session][]int)
	for i, g := range grants {
		switch h := b.held(g); {
		case h == nil || h.leaving:
			outcomes[i] = driver.Lost
		case g.TTL <= h.session.ttl:
			bySession[h.session] = append(bySession[h.session], i)
		}
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var failure error
	for s, of := range bySession {
		group.Go(func() {
			if err := b.renew(ctx, s, grants, of, outcomes); err != nil {
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

// renew tells the outcomes of the grants of one session, which are those numbered in of.
func (b *Backend) renew(ctx context.Context, s *session, grants []driver.Grant, of []int, outcomes []driver.Outcome) error {
	const part = 100 // a transaction may have 128 comparisons
	var group sync.WaitGroup
	var beat error
	group.Go(func() { beat = b.beat(ctx, s) })
	found := make([]driver.Outcome, len(outcomes))
	errs := make([]error, (len(of)+part-1)/part)
	for n := range errs {
		some := of[n*part : min((n+1)*part, len(of))]
		group.Go(func() { errs[n] = b.prove(ctx, grants, some, found) })
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

// prove tells of some entries whether they are as they were granted.
func (b *Backend) prove(ctx context.Context, grants []driver.Grant, some []int, outcomes []driver.Outcome) error {
	same := make([]clientv3.Cmp, len(some))
	gets := make([]clientv3.Op, len(some))
	for n, i := range some {
		entry := b.entry(grants[i].Key, grants[i].Nonce)
		same[n] = clientv3.Compare(clientv3.CreateRevision(entry), "=", int64(grants[i].Token))
		gets[n] = clientv3.OpGet(entry, clientv3.WithKeysOnly())
	}
	reply, err := b.client.Txn(ctx).If(same...).Then(clientv3.OpGet(b.entry(grants[some[0]].Key, grants[some[0]].Nonce), clientv3.WithCountOnly())).Else(gets...).Commit()
	if err != nil {
		return err
	}
	for n, i := range some {
		outcomes[i] = driver.Renewed
		if !reply.Succeeded {
			kvs := reply.Responses[n].GetResponseRange().Kvs
			if len(kvs) == 0 || kvs[0].CreateRevision != int64(grants[i].Token) {
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

// sweep takes back the entries of a session in doubt that nobody knows of: a request whose reply is
// missing may be carried out after it was given up, and its entry would live as long as the others.
func (b *Backend) sweep(ctx context.Context, s *session) {
	lease, err := b.client.TimeToLive(ctx, s.id, clientv3.WithAttachedKeys())
	if err != nil {
		return // the next renewal does it
	}
	for _, entry := range lease.Keys {
		_, nonce, ok := b.parse(string(entry))
		if !ok || !b.begin(nonce) {
			continue
		}
		b.mu.Lock()
		h := b.holds[nonce]
		b.mu.Unlock()
		if h == nil || h.leaving {
			_, _ = b.client.Delete(ctx, string(entry))
		}
		b.done(nonce)
	}
}
