package redlock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// candidate identifies the waiting process that sends a request to a node. The id is empty if the caller does not wait.
type candidate struct {
	id    string
	since time.Time // when the wait began, by the waiter's clock
}

// voteAt runs the acquire script at a node. Without a nonce it only queries the node's state.
func (r *Backend) voteAt(ctx context.Context, n *node, client *redis.Client, nonce string, req driver.Request, by candidate, ballot int64, proposed driver.Token) vote {
	o := r.options
	if r.places.Of(req.Key) == "" {
		by.id = "" // the waiter has given up meanwhile; its leave request may arrive before this request, so do not add it to the queue
	}
	cmds, err := r.ask(ctx, n, client, func(of *run) []redisbase.Call {
		return []redisbase.Call{of.acquire.On([]string{o.prefix.Encode(req.Key), o.prefix.Record(), r.waiters(req.Key)},
			nonce, req.Holder, req.Note, redisbase.Micros(req.TTL), redisbase.Micros(req.MinHold), redisbase.Micros(req.HandoverDelay), retention.Milliseconds(), redisbase.Micros(o.quarantine()), by.id, ballot, proposed.String(), by.since.UnixMicro(),
		)}
	})
	if err != nil {
		return vote{node: n, err: err}
	}
	v := readVote(n, cmds[0])
	v.err = redisbase.Classify(v.err)
	r.saw(v.top)
	return v
}

// admit lets a node vote again after its quarantine (see [MaxTTL]). It sends the node the largest token that the other
// nodes know, so that the node confirms only larger tokens. It reports whether the node has been admitted.
func (r *Backend) admit(n *node, floor driver.Token, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmds, err := r.ask(ctx, n, n.within(limit), func(of *run) []redisbase.Call {
		return []redisbase.Call{of.admits.On([]string{r.options.prefix.Record()}, floor.String(), redisbase.Micros(r.options.quarantine()))}
	})
	if err != nil {
		return false
	}
	ok, err := cmds[0].Bool()
	return err == nil && ok
}

// lookPause is the shortest interval between two attempts to contact absent nodes.
const lookPause = time.Second

// look calls visit, unless the last visit ended less than lookPause ago. The caller must be counted in r.work.
func (r *Backend) look() {
	if last := r.visited.Load(); last == nil || time.Since(*last) >= lookPause {
		r.visit()
	}
}

// visit asks all nodes, also absent nodes, for their state, and admits nodes whose quarantine is over. It works in the
// background. A process that only renews leases relies on visit, because renewals do not admit nodes. Only one visit
// runs at a time. The caller must be counted in r.work.
func (r *Backend) visit() {
	if r.visiting.Swap(true) {
		return
	}
	r.work.run(func() {
		defer func() {
			now := time.Now()
			r.visited.Store(&now)
			r.visiting.Store(false)
		}()
		limit := r.options.contact(r.options.maxTTL)
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		found := make(chan vote, len(r.nodes))
		for _, n := range r.nodes {
			r.work.run(func() {
				found <- r.voteAt(ctx, n, n.within(limit), "", driver.Request{}, candidate{}, 0, 0)
			})
		}
		var votes []vote
		for range r.nodes {
			votes = append(votes, <-found) // each vote arrives within limit
		}
		if !enoughToAdmit(votes, len(r.nodes)) {
			return
		}
		for _, v := range votes {
			if v.ready() {
				r.admit(v.node, floor(votes), limit)
			}
		}
	})
}
