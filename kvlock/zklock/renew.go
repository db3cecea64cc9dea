package zklock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// Renew proves that the sessions of the grants live, and that each of their nodes exists. For each session it sends one
// transaction with operations that change nothing. Thousands of grants take several transactions. A majority of the
// servers must commit a transaction. So a server that is cut off from the other servers cannot answer it, although it
// would answer a ping.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	outcomes := make([]driver.Outcome, len(grants))
	bySession := make(map[*session][]renewing)
	for i, g := range grants {
		e := b.held(g)
		switch {
		case e == nil || e.leaving() != nil:
			outcomes[i] = driver.Lost
		case g.TTL <= e.session.trust(g.TTL):
			bySession[e.session] = append(bySession[e.session], renewing{e, i})
		}
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var failure error
	for s, all := range bySession {
		for _, some := range parts(all) {
			group.Go(func() {
				if err := s.renew(ctx, some, outcomes); err != nil {
					mu.Lock()
					failure = err
					mu.Unlock()
				}
			})
		}
	}
	group.Wait()
	if failure != nil && !slices.ContainsFunc(outcomes, func(o driver.Outcome) bool { return o != driver.Unknown }) {
		return nil, failure
	}
	return outcomes, nil
}

type renewing struct {
	*entry

	at int // index in the outcomes
}

// parts splits the renewals into several lists, so that the operations of each list fit into one request.
func parts(renewals []renewing) (parts [][]renewing) {
	const most = sendBuffer / 2
	size, from := 0, 0
	for i, r := range renewals {
		const around = 32 // bytes of an operation besides its path
		size += len(r.path) + around
		if size > most && i > from {
			parts = append(parts, renewals[from:i])
			size, from = len(r.path)+around, i
		}
	}
	return append(parts, renewals[from:])
}

// renew sets the outcomes of some grants of one session.
func (s *session) renew(ctx context.Context, some []renewing, outcomes []driver.Outcome) error {
	sent := time.Now()
	err := s.checkAll(ctx, some)
	if errors.Is(err, zk.ErrNoNode) {
		var left []renewing
		if left, err = s.sort(ctx, some, outcomes); err == nil && len(left) > 0 {
			some, sent = left, time.Now()
			err = s.checkAll(ctx, some)
		} else {
			some = nil
		}
	}
	outcome := driver.Renewed
	switch {
	case s.ctx.Err() != nil:
		outcome, err = driver.Lost, nil
	case err != nil:
		return err
	default:
		s.prove(sent)
	}
	for _, r := range some {
		outcomes[r.at] = outcome
	}
	return nil
}

func (s *session) checkAll(ctx context.Context, some []renewing) error {
	checks := make([]any, len(some))
	for i, r := range some {
		checks[i] = existence(r.path)
	}
	_, err := ask(ctx, s, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(checks...) })
	return err
}

// sort finds out which nodes were deleted. It sets the outcomes of their grants to Lost, and returns the other grants.
// The session's server has seen the failed transaction and everything before it, so it is enough to read from this
// server.
func (s *session) sort(ctx context.Context, some []renewing, outcomes []driver.Outcome) (left []renewing, err error) {
	found := make([]bool, len(some))
	errs := make([]error, len(some))
	var group sync.WaitGroup
	for i, r := range some {
		group.Go(func() {
			found[i], errs[i] = ask(ctx, s, func(c *zk.Conn) (bool, error) {
				found, _, err := c.Exists(r.path)
				return found, err
			})
		})
	}
	group.Wait()
	for i, r := range some {
		switch {
		case errs[i] != nil:
			err = errs[i]
		case found[i]:
			left = append(left, r)
		default:
			outcomes[r.at] = driver.Lost
			r.forget()
		}
	}
	return left, err
}
