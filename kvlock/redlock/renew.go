package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Renew implements [driver.Backend]. A lease is renewed if a majority of the nodes still has it and renews it. A lease
// is lost if no majority can renew it any more. If a node has lost a lease, its answer counts for this lease again only
// after a majority of other nodes has renewed the lease. One round at all nodes in parallel renews all leases.
func (r *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	outcomes, err := r.renew(ctx, grants)
	if err != nil {
		return nil, redisbase.Describe(ctx, pkg, fmt.Sprintf("renew %d leases", len(grants)), driver.Key{}, err)
	}
	return outcomes, nil
}

func (r *Backend) renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if err := r.begin(); err != nil {
		return nil, err
	}
	defer r.work.done()
	if err := ctx.Err(); err != nil {
		return nil, driver.NotApplied(err)
	}
	if len(grants) == 0 {
		return nil, nil
	}
	var longest time.Duration
	for _, g := range grants {
		longest = max(longest, g.TTL)
	}
	t := &tally{
		redlock: r, grants: grants, limit: r.options.limit(longest),
		sources: make([]*node, len(grants)), yes: make([]int, len(grants)), no: make([]int, len(grants)), outcomes: make([]driver.Outcome, len(grants)),
		answers: make(chan renewed, len(r.nodes)), decided: make(chan struct{}),
	}
	for _, n := range r.nodes {
		r.work.run(func() { t.run(ctx, n) })
	}
	defer close(t.decided)
	if err := t.collect(ctx); err != nil {
		return nil, err
	}
	return slices.Clone(t.outcomes), nil
}

// maxBatch is how many leases one run of the script renews. The server executes no other command during the run.
const maxBatch = 100

// tally is one call of Renew. It counts the nodes' answers for each grant.
type tally struct {
	redlock  *Backend
	grants   []driver.Grant
	limit    time.Duration
	answers  chan renewed
	decided  chan struct{} // closed when the outcomes are set
	yes, no  []int
	outcomes []driver.Outcome
	sources  []*node // for each grant, one node that has renewed it
}

// renewed is the answer of one node. The field held says for each grant whether the node has renewed it.
type renewed struct {
	node *node
	held []bool
	err  error
}

// collect counts answers until all outcomes are decided, until the time limit, or until ctx ends. It returns an error
// if it knows no outcome.
func (t *tally) collect(ctx context.Context) error {
	timer := time.NewTimer(t.limit)
	defer timer.Stop()
	q := t.redlock.quorum()
	var failures []string
	for open, pending := len(t.grants), len(t.redlock.nodes); pending > 0 && open > 0; pending-- {
		select {
		case a := <-t.answers:
			if a.err != nil {
				failures = append(failures, fmt.Sprintf("%s: %v", a.node.addr, a.err))
				continue
			}
			open -= t.add(a, q)
		case <-timer.C:
			failures, pending = append(failures, fmt.Sprintf("no answer within %s", t.limit)), 0
		case <-ctx.Done():
			failures, pending = append(failures, "no answer in time"), 0
		}
	}
	if slices.ContainsFunc(t.outcomes, func(o driver.Outcome) bool { return o != driver.Unknown }) {
		return nil
	}
	return fmt.Errorf("too few of %d nodes answered, and a majority is %d: %s", len(t.redlock.nodes), q, strings.Join(failures, "; "))
}

// add counts one node's answer, and returns how many outcomes it has decided.
func (t *tally) add(a renewed, quorum int) (decided int) {
	for i, held := range a.held {
		if held {
			t.yes[i]++
			t.sources[i] = a.node
		} else {
			t.no[i]++
		}
		if t.outcomes[i] != driver.Unknown {
			continue
		}
		switch {
		case t.yes[i] >= quorum:
			t.outcomes[i] = driver.Renewed
			decided++
		case t.no[i] > len(t.redlock.nodes)-quorum:
			t.outcomes[i] = driver.Lost
			decided++
		}
	}
	return decided
}

// run performs the renewal at one node. When the outcomes are known, the method copies to the node the renewed leases
// that it lacks.
func (t *tally) run(ctx context.Context, n *node) {
	held, err := t.ask(ctx, n)
	t.answers <- renewed{n, held, err}
	if errors.Is(err, errForgetful) {
		t.redlock.visit()
	}
	<-t.decided
	var missing []int
	for i, here := range held {
		if !here && t.outcomes[i] == driver.Renewed {
			missing = append(missing, i)
		}
	}
	if len(missing) > 0 {
		t.fill(context.WithoutCancel(ctx), n, missing)
	}
}

// ask renews the leases at one node. One run of the script renews up to a hundred leases.
func (t *tally) ask(ctx context.Context, n *node) ([]bool, error) {
	ctx, cancel := bound(ctx, t.limit)
	defer cancel()
	batches := slices.Collect(slices.Chunk(t.grants, maxBatch))
	cmds, err := t.redlock.ask(ctx, n, n.within(t.limit), func(of *run) (calls []redisbase.Call) {
		for _, batch := range batches {
			calls = append(calls, t.call(of, batch))
		}
		return calls
	})
	if err != nil {
		return nil, err
	}
	held := make([]bool, 0, len(t.grants))
	for i, cmd := range cmds {
		part, err := cmd.BoolSlice()
		if err != nil {
			return nil, err
		}
		if len(part) != len(batches[i]) {
			return nil, errForgetful
		}
		held = append(held, part...)
	}
	return held, nil
}

func (t *tally) call(of *run, batch []driver.Grant) redisbase.Call {
	o := t.redlock.options
	c := of.renew.On([]string{o.prefix.Record()}, retention.Milliseconds())
	for _, g := range batch {
		c.Keys = append(c.Keys, o.prefix.Encode(g.Key))
		c.Args = append(c.Args, g.Nonce.String(), g.Token.String(), redisbase.Micros(g.TTL), redisbase.Micros(g.MinHold), redisbase.Micros(g.HandoverDelay))
	}
	return c
}

var errForgetful = errors.New("it may have forgotten leases, so it does not vote")
