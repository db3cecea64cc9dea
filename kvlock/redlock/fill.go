package redlock

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// fill copies leases to a node that lacks them, after a majority of other nodes has renewed them. From the next renewal
// on, the node's answer counts for these leases too.
func (t *tally) fill(ctx context.Context, n *node, missing []int) {
	ctx, cancel := context.WithTimeout(ctx, 2*t.limit)
	defer cancel()
	keys := make([]driver.Key, len(missing))
	for i, at := range missing {
		keys[i] = t.grants[at].Key
	}
	turn := n.turn(keys...)
	defer turn.done()
	if !turn.wait(ctx) {
		return
	}
	for batch := range slices.Chunk(missing, maxBatch) {
		if calls := t.copies(ctx, batch); len(calls) > 0 {
			redisbase.RunAll(ctx, n.within(t.limit), calls)
		}
	}
}

// copies returns the calls that put leases into a node. It reads the holder and note of each lease from a node that has
// the lease. It skips leases that have been released or are being released. A running release may already have reached
// the node that lacks the lease, although it has not reached the node that has it.
func (t *tally) copies(ctx context.Context, grants []int) []redisbase.Call {
	o := t.redlock.options
	said := make([]*redis.SliceCmd, len(t.grants))
	for _, source := range t.redlock.nodes {
		_, _ = source.within(t.limit).Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, at := range grants {
				if t.sources[at] == source && !source.isEnding(t.grants[at].Nonce) {
					said[at] = p.HMGet(ctx, o.prefix.Encode(t.grants[at].Key), "nonce", "holder", "note")
				}
			}
			return nil
		})
	}
	var calls []redisbase.Call
	for _, at := range grants {
		g := t.grants[at]
		var row struct {
			Nonce  string `redis:"nonce"`
			Holder string `redis:"holder"`
			Note   string `redis:"note"`
		}
		if said[at] == nil || said[at].Scan(&row) != nil || row.Nonce != g.Nonce.String() {
			continue
		}
		calls = append(calls, fillScript.On([]string{o.prefix.Encode(g.Key), o.prefix.Record()},
			g.Nonce.String(), g.Token.String(), row.Holder, row.Note, redisbase.Micros(g.TTL), redisbase.Micros(g.MinHold), redisbase.Micros(g.HandoverDelay), retention.Milliseconds(),
			t.redlock.ballots.Add(1),
		))
	}
	return calls
}
