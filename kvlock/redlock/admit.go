package redlock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// candidate is how a node lists the waiter that asks: no id if the request is not of a waiter.
type candidate struct {
	id    string
	since time.Time // it has waited, by its own clock
}

// voteAt runs the acquire script at a node. Without a nonce it asks for the node's state only.
func (r *Backend) voteAt(ctx context.Context, n *node, client *redis.Client, nonce string, req driver.Request, by candidate, ballot int64, proposed driver.Token) vote {
	o := r.options
	if r.places.Of(req.Key) == "" {
		by.id = "" // it has given up since, and its leave may come first
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

// admit gives a node back its vote, now that it is told what the others know.
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

// lookPause is the time between two visits to a node that does not answer.
const lookPause = time.Second

// look visits absent nodes, unless the last visit was a moment ago. A call that is counted starts it.
func (r *Backend) look() {
	if last := r.visited.Load(); last == nil || time.Since(*last) >= lookPause {
		r.visit()
	}
}

// visit finds absent nodes in the background, and admits nodes that are ready, for holders that only renew. One visit is enough at a time. A call that is
// counted starts it.
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
			votes = append(votes, <-found) // the limit bounds each
		}
		if !told(votes, len(r.nodes)) {
			return
		}
		for _, v := range votes {
			if v.ready() {
				r.admit(v.node, floor(votes), limit)
			}
		}
	})
}
