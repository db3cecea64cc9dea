package etcdlock

import (
	"context"
	"slices"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// proof is one grant to renew, and its outcome.
type proof struct {
	entry    *entry
	revision int64 // the create revision of the grant's key
	at       int   // the index of the grant
	outcome  driver.Outcome
}

// Renew renews the sessions of the grants, and proves that each of their keys still exists. For each session it sends
// two concurrent requests, and one more for each further hundred grants. These requests commit nothing.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	outcomes := make([]driver.Outcome, len(grants))
	bySession := make(map[*session][]proof)
	b.mu.Lock()
	for i, g := range grants {
		if e := b.find(g); e == nil || e.leaving {
			outcomes[i] = driver.Lost
		} else {
			bySession[e.session] = append(bySession[e.session], proof{entry: e, revision: e.revision, at: i})
		}
	}
	b.mu.Unlock()
	var group sync.WaitGroup
	var mu sync.Mutex
	var failure error
	for s, proofs := range bySession {
		group.Go(func() {
			err := b.renew(ctx, s, proofs)
			mu.Lock()
			defer mu.Unlock()
			failure = oneline.Join(failure, err)
			for _, p := range proofs {
				outcomes[p.at] = p.outcome
			}
		})
	}
	group.Wait()
	if failure != nil && !slices.ContainsFunc(outcomes, func(o driver.Outcome) bool { return o != driver.Unknown }) {
		return nil, failure
	}
	return outcomes, nil
}

// renew sets the outcomes of the grants of one session.
func (b *Backend) renew(ctx context.Context, s *session, proofs []proof) error {
	const part = 100 // a transaction may have 128 comparisons
	parts := slices.Collect(slices.Chunk(proofs, part))
	errs := make([]error, len(parts)+1)
	var group sync.WaitGroup
	for n, some := range parts {
		group.Go(func() { errs[n] = b.prove(ctx, some) })
	}
	errs[len(parts)] = b.beat(ctx, s)
	group.Wait()
	for i := range proofs {
		p := &proofs[i]
		switch {
		case s.ctx.Err() != nil:
			p.outcome = driver.Lost
		case p.outcome == driver.Lost:
			b.forget(p.entry)
		case errs[len(parts)] != nil:
			p.outcome = driver.Unknown
		}
	}
	return oneline.Join(errs...)
}

// prove sets the outcomes of some grants. The outcome is Renewed if the key still exists as it was granted, and Lost if
// not.
func (b *Backend) prove(ctx context.Context, proofs []proof) error {
	same, gets := make([]clientv3.Cmp, len(proofs)), make([]clientv3.Op, len(proofs))
	for n, p := range proofs {
		same[n], gets[n] = created(p.entry.path, p.revision), clientv3.OpGet(p.entry.path, clientv3.WithKeysOnly())
	}
	reply, err := b.commit(ctx, same, []clientv3.Op{clientv3.OpGet(proofs[0].entry.path, clientv3.WithCountOnly())}, gets)
	if err != nil {
		return err
	}
	for n := range proofs {
		p := &proofs[n]
		p.outcome = driver.Renewed
		if !reply.Succeeded {
			kvs := reply.Responses[n].GetResponseRange().Kvs
			if len(kvs) == 0 || kvs[0].CreateRevision != p.revision {
				p.outcome = driver.Lost
			}
		}
	}
	return nil
}
