package redlock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Release implements [driver.Backend]. It sends the release to all nodes in parallel. It returns when a majority of the
// nodes has released the lock, or when it is clear that no majority knows the grant. Slower nodes get the release in
// the background.
func (r *Backend) Release(ctx context.Context, g driver.Grant) error {
	err := r.release(ctx, g)
	if err != nil && !errors.Is(err, driver.ErrNotHeld) {
		err = redisbase.Describe(ctx, pkg, "release", g.Key, err)
	}
	return err
}

func (r *Backend) release(ctx context.Context, g driver.Grant) error {
	if err := r.begin(); err != nil {
		return err
	}
	defer r.crew.Leave()
	if err := ctx.Err(); err != nil {
		return driver.NotApplied(err)
	}
	q := inquire(r, func(n *node) func() (bool, error) { return r.releaseAt(ctx, n, g, nil) })
	known, unknown := 0, 0
	var f failures
	for one := range q.within(ctx, r.options.limit(g.TTL)) {
		switch {
		case one.err != nil:
			f.add(one.node, one.err)
		case one.value:
			known++
		default:
			unknown++
		}
		switch {
		case known >= r.quorum():
			return nil
		case unknown > len(r.nodes)-r.quorum():
			return driver.ErrNotHeld
		}
	}
	return r.tooFew(known, "released the lock", f)
}

// releaseAt returns a function that releases a grant at one node, after all earlier requests for the lock. If failed is
// not nil, the function undoes this attempt: it ends no grant of a later attempt, and notifies no waiter.
func (r *Backend) releaseAt(ctx context.Context, n *node, g driver.Grant, failed *attempt) func() (bool, error) {
	t := n.turn(g.Key, g.Nonce)
	args := []any{g.Nonce.String(), g.Token.String(), redisbase.Micros(g.MinHold), r.options.prefix.Waiters(), "", "", ""}
	if failed != nil {
		args = append(args[:4], failed.number, failed.waiter, failed.since.UnixMicro())
	}
	return func() (bool, error) {
		defer t.end()
		ctx := context.WithoutCancel(ctx)
		if t.wait(ctx, nil); t.needless() {
			return false, errors.New("the lease was never requested at this node")
		}
		limit := r.options.limit(g.TTL)
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		known, err := redisbase.Run(ctx, n.within(limit), releaseScript.On([]string{r.options.prefix.Encode(g.Key), r.options.prefix.Record(), r.waiters(g.Key)}, args...)).Bool()
		t.asked, t.left = true, true // a repeated release must be sent too
		return known, err
	}
}
