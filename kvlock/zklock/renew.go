package zklock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Renew proves that the sessions of the grants live, and that each of their nodes exists. For each session it sends one
// transaction with operations that change nothing. Thousands of grants take several transactions. A majority of the
// servers must commit a transaction. So a server that is cut off from the other servers cannot answer it, although it
// would answer a ping.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	outcomes, entries := make([]driver.Outcome, len(grants)), make([]*entry, len(grants))
	bySession := make(map[*session][]int) // indexes of the grants
	for i, g := range grants {
		e := b.held(g)
		switch {
		case e == nil:
			outcomes[i] = driver.Lost
		case g.TTL <= e.session.trust(g.TTL):
			entries[i] = e
			bySession[e.session] = append(bySession[e.session], i)
		}
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var failure error
	for s, all := range bySession {
		group.Go(func() {
			if err := s.renew(ctx, entries, all, outcomes); err != nil {
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

// renew sets the outcomes of some entries of one session, which it gets as indexes. If a node was deleted, the
// transaction fails. The method then renews each half of the entries alone. It also does so if the operations do not fit
// into one request.
func (s *session) renew(ctx context.Context, entries []*entry, some []int, outcomes []driver.Outcome) error {
	const most, around = sendBuffer / 2, 32 // bytes of a request, and of an operation besides its path
	var checks []any
	size := 0
	for _, i := range some {
		checks = append(checks, existence(entries[i].path))
		size += len(entries[i].path) + around
	}
	half := len(some) / 2
	split := half > 0 && size > most
	sent, err := time.Now(), error(nil)
	if !split {
		_, err = ask(ctx, s, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(checks...) })
		split = half > 0 && errors.Is(err, zk.ErrNoNode)
	}
	outcome := driver.Renewed
	switch {
	case s.ctx.Err() != nil:
		outcome = driver.Lost
	case split:
		return oneline.Join(s.renew(ctx, entries, some[:half], outcomes), s.renew(ctx, entries, some[half:], outcomes))
	case errors.Is(err, zk.ErrNoNode):
		outcome = driver.Lost
		entries[some[0]].forget()
	case err != nil:
		return err
	default:
		s.keep(sent)
	}
	for _, i := range some {
		outcomes[i] = outcome
	}
	return nil
}

// Release deletes the node of g, and records the tick of g in the same transaction. It returns ErrNotHeld if this
// backend has no node for g's nonce, or if the node has another token than g. If the servers do not answer, the deletion
// continues in the background.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if err := oneline.Join(b.err, ctx.Err()); err != nil {
		return driver.NotApplied(err)
	}
	b.mu.Lock()
	_, before := b.ended.Get(ending{g.Nonce, g.Token})
	e := b.entries[g.Nonce]
	b.mu.Unlock()
	switch {
	case before:
		return nil
	case e == nil || !e.is(g):
		return driver.ErrNotHeld
	}
	done := g.Done
	if e.Shared { // several readers hold the lock, so they keep no ticks
		done = ""
	}
	removal := e.remove(done)
	select {
	case <-removal.done:
		return removal.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// held returns the entry of g, or nil if this backend does not hold g or has begun to delete its node.
func (b *Backend) held(g driver.Grant) *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[g.Nonce]
	if e == nil || e.removal != nil || !e.granted.Load() || !e.is(g) {
		return nil
	}
	return e
}
