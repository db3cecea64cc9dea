package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// row is what a node that has renewed a lease knows about it. A nil row means that the node does not have the lease.
type row struct{ holder, note string }

func (r *Backend) renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if err := r.begin(); err != nil {
		return nil, err
	}
	defer r.crew.Leave()
	if err := ctx.Err(); err != nil {
		return nil, driver.NotApplied(err)
	}
	if len(grants) == 0 {
		return nil, nil
	}
	longest := slices.MaxFunc(grants, func(x, y driver.Grant) int { return int(x.TTL - y.TTL) }).TTL
	r.meet(ctx, longest)
	limit := r.options.limit(longest)
	q := inquire(r, func(n *node) func() ([]*row, error) {
		return func() ([]*row, error) { return r.renewAt(ctx, n, limit, grants) }
	})
	yes, no := make([]int, len(grants)), make([]int, len(grants))
	outcomes, rows := make([]driver.Outcome, len(grants)), make([]*row, len(grants))
	lacking := make(map[*node][]*row) // the replies of nodes that lack leases
	open := len(grants)
	var f failures
	for one := range q.within(ctx, limit) {
		if one.err != nil {
			f.add(one.node, one.err)
			continue
		}
		for i, has := range one.value {
			if has != nil {
				rows[i] = has
				yes[i]++
			} else {
				lacking[one.node] = one.value
				no[i]++
			}
			switch {
			case outcomes[i] != driver.Unknown:
			case yes[i] >= r.quorum():
				outcomes[i] = driver.Renewed
				open--
			case no[i] > len(r.nodes)-r.quorum():
				outcomes[i] = driver.Lost
				open--
			}
		}
		if open == 0 {
			break
		}
	}
	if open == len(grants) {
		return nil, r.tooFew(len(r.nodes)-len(f)-q.pending, "answered", f)
	}
	r.crew.Go(func() { // slower nodes may lack leases too
		for one := range q.within(context.WithoutCancel(ctx), limit) {
			if one.err == nil {
				lacking[one.node] = one.value
			}
		}
		for n, has := range lacking {
			var missing []int
			for i := range grants {
				if has[i] == nil && outcomes[i] == driver.Renewed {
					missing = append(missing, i)
				}
			}
			for batch := range slices.Chunk(missing, maxBatch) {
				r.fill(ctx, n, limit, grants, rows, batch)
			}
		}
	})
	return slices.Clone(outcomes), nil
}

// maxBatch is how many leases one run of the script renews. The server executes no other command during the run.
const maxBatch = 100

var errForgetful = errors.New("it may have forgotten leases, so it does not vote")

// renewAt renews the leases at one node, and returns what the node knows about each.
func (r *Backend) renewAt(ctx context.Context, n *node, limit time.Duration, grants []driver.Grant) ([]*row, error) {
	ctx, cancel := bound(ctx, limit)
	defer cancel()
	cmds, err := r.send(ctx, n, n.within(limit), func(of *run) (calls []redisbase.Call) {
		for batch := range slices.Chunk(grants, maxBatch) {
			c := of.renew.On([]string{r.options.prefix.Record()}, retention.Milliseconds())
			for _, g := range batch {
				c.Keys = append(c.Keys, r.options.prefix.Encode(g.Key))
				c.Args = append(c.Args, g.Nonce.String(), g.Token.String(), redisbase.Micros(g.TTL), redisbase.Micros(g.MinHold), redisbase.Micros(g.HandoverDelay))
			}
			calls = append(calls, c)
		}
		return calls
	})
	if err != nil {
		return nil, err
	}
	rows := make([]*row, 0, len(grants))
	for _, cmd := range cmds {
		list, err := cmd.Slice()
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			var has *row
			if texts, ok := one.([]any); ok && len(texts) == 2 {
				has = &row{fmt.Sprint(texts[0]), fmt.Sprint(texts[1])}
			}
			rows = append(rows, has)
		}
	}
	if len(rows) != len(grants) {
		r.lookAfterNodes() // a renewal does not itself let a restarted node vote again (see admit.go)
		return nil, errForgetful
	}
	return rows, nil
}

// fill copies leases to a node that lacks them, after a majority of other nodes has renewed them. From the next renewal
// on, the node's answer counts for these leases too. A lease that was released meanwhile is not restored, because the
// release has left its token at the node.
func (r *Backend) fill(ctx context.Context, n *node, limit time.Duration, grants []driver.Grant, rows []*row, missing []int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	for _, i := range missing {
		t := n.turn(grants[i].Key, driver.Nonce{})
		defer t.end()
		if !t.wait(ctx, nil) {
			return
		}
	}
	_, _ = r.send(ctx, n, n.within(limit), func(of *run) (calls []redisbase.Call) {
		for _, i := range missing {
			g := grants[i]
			req := driver.Request{Key: g.Key, Nonce: g.Nonce, TTL: g.TTL, Holder: rows[i].holder, Note: rows[i].note, MinHold: g.MinHold, HandoverDelay: g.HandoverDelay}
			calls = append(calls, r.acquireCall(of.acquire, "fill", req, r.number(), g.Token, "", time.Time{}))
		}
		return calls
	})
}
