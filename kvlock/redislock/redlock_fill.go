package redislock

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
)

// fill gives a node the leases that it lacks and that a majority has just renewed without it: by the next renewal
// they count there, too.
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
			runAll(ctx, n.within(t.limit), calls)
		}
	}
}

// copies are the calls that put leases into a node. Who holds them is asked of nodes that know, and whether they have not been
// released meanwhile.
func (t *tally) copies(ctx context.Context, grants []int) []call {
	o := t.redlock.options
	said := make([]*redis.SliceCmd, len(t.grants))
	for _, source := range t.redlock.nodes {
		_, _ = source.within(t.limit).Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, at := range grants {
				if t.sources[at] == source {
					said[at] = p.HMGet(ctx, o.encode(t.grants[at].Key), "nonce", "holder", "note")
				}
			}
			return nil
		})
	}
	var calls []call
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
		calls = append(calls, call{redlockFillScript, []string{o.encode(g.Key), o.record()}, []any{
			g.Nonce.String(), g.Token.String(), row.Holder, row.Note, micros(g.TTL), micros(g.MinHold), micros(g.HandoverDelay), o.retention.Milliseconds(),
		}})
	}
	return calls
}
