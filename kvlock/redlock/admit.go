package redlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// lookPause is the shortest interval between two background contacts with the nodes.
const lookPause = time.Second

// meet contacts the nodes before the first call, and also if too few nodes are known. Otherwise unknown nodes are
// contacted in the background, and the call does not wait for them.
func (r *Backend) meet(ctx context.Context, ttl time.Duration) {
	switch unknown := count(r.nodes, (*node).isUnknown); {
	case unknown == 0:
	case !r.met.Load() || len(r.nodes)-unknown < r.quorum():
		r.contact(ctx, r.options.contact(ttl))
		r.met.Store(true)
	default:
		r.lookAfterNodes()
	}
}

// lookAfterNodes calls admitNodes in the background, once a second at most. The caller must be counted in r.crew.
func (r *Backend) lookAfterNodes() {
	now, last := time.Now().UnixNano(), r.looked.Load()
	if now-last >= int64(lookPause) && r.looked.CompareAndSwap(last, now) {
		r.crew.Go(func() {
			limit := r.options.contact(r.options.maxTTL)
			r.contact(context.Background(), limit)
			r.admitNodes(context.Background(), limit)
		})
	}
}

// contact checks the unknown nodes, and waits for their answers.
func (r *Backend) contact(ctx context.Context, limit time.Duration) {
	q := inquire(r, func(n *node) func() (*run, error) {
		if !n.isUnknown() {
			return nil
		}
		return func() (*run, error) {
			ctx, cancel := bound(ctx, limit)
			defer cancel()
			return r.fit(ctx, n, n.within(limit))
		}
	})
	for range q.within(ctx, limit) {
	}
}

// admitNodes lets nodes vote again after their quarantine (see [MaxTTL]). It sends such a node the largest token that
// the nodes have reported, so that the node confirms only larger tokens. A caller that has found a node ready must vote
// again if the result is true: this call or another one has admitted nodes.
func (r *Backend) admitNodes(ctx context.Context, limit time.Duration) (admitted bool) {
	states := inquire(r, func(n *node) func() (vote, error) {
		return func() (vote, error) {
			ctx, cancel := bound(ctx, limit)
			defer cancel()
			return r.acquireAt(ctx, n, limit, "vote", driver.Request{}, 0, 0, "", time.Time{})
		}
	})
	var votes []vote
	for one := range states.within(ctx, limit) {
		one.value.node, one.value.err = one.node, one.err
		votes = append(votes, one.value)
	}
	if count(votes, vote.ready) == 0 {
		return true // another call has admitted the nodes that were ready
	}
	if !enoughToAdmit(votes, len(r.nodes)) {
		return false
	}
	done := inquire(r, func(n *node) func() (bool, error) {
		return func() (bool, error) {
			ctx, cancel := bound(ctx, limit)
			defer cancel()
			cmds, err := r.send(ctx, n, n.within(limit), func(of *run) []redisbase.Call {
				return []redisbase.Call{of.admit.On([]string{r.options.prefix.Record()}, floor(votes).String(), redisbase.Micros(r.options.quarantine()))}
			})
			if err != nil {
				return false, err
			}
			return cmds[0].Bool()
		}
	})
	for one := range done.within(ctx, limit) {
		admitted = admitted || one.err == nil && one.value
	}
	return admitted
}

// floor returns the largest token that the nodes have reported. A node that has lost data must confirm only larger
// tokens.
func floor(votes []vote) driver.Token {
	var top driver.Token
	for _, v := range votes {
		top = max(top, v.top)
	}
	return top
}

// enoughToAdmit reports whether enough nodes have answered to admit the nodes whose quarantine is over. There are
// enough answers if a majority of the nodes has lost nothing, or if all nodes have answered. If a node is overdue,
// which means that it has been ready for longer than one quarantine, any majority of the nodes is enough. In this case
// tokens rise only if the nodes' clocks differ by less than one quarantine.
func enoughToAdmit(votes []vote, nodes int) bool {
	quorum := nodes/2 + 1
	answers := count(votes, vote.answered)
	return answers-count(votes, vote.forgetful) >= quorum || answers == nodes || answers >= quorum && count(votes, vote.overdue) > 0
}
