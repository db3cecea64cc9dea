package redislock

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
)

// renewing is a grant of which renewals are under way.
type renewing struct {
	count int
	ended bool // it was released meanwhile, and must not be put back
}

// enter counts a renewal of grants, until leave.
func (r *Redlock) enter(grants []driver.Grant) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range grants {
		of := r.renewing[g.Nonce]
		if of == nil {
			of = new(renewing)
			r.renewing[g.Nonce] = of
		}
		of.count++
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, g := range grants {
			of := r.renewing[g.Nonce]
			if of.count--; of.count == 0 {
				delete(r.renewing, g.Nonce)
			}
		}
	}
}

// ended tells the renewals of a grant that it is being released.
func (r *Redlock) ended(nonce driver.Nonce) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if of := r.renewing[nonce]; of != nil {
		of.ended = true
	}
}

func (r *Redlock) hasEnded(nonce driver.Nonce) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.renewing[nonce].ended
}

// fill gives a node the leases that it lacks and that a majority has just renewed without it: by the next renewal
// they count there, too.
func (t *tally) fill(ctx context.Context, n *node, missing []int) {
	ctx, cancel := context.WithTimeout(ctx, 2*t.limit)
	defer cancel()
	nonces := make([]driver.Nonce, len(missing))
	for i, at := range missing {
		nonces[i] = t.grants[at].Nonce
	}
	wait, done := n.turn(nonces...)
	defer done()
	if !wait(ctx) {
		return
	}
	missing = slices.DeleteFunc(missing, func(at int) bool { return t.redlock.hasEnded(t.grants[at].Nonce) })
	for batch := range slices.Chunk(missing, maxBatch) {
		if calls := t.copies(ctx, batch); len(calls) > 0 {
			runAll(ctx, n.within(t.limit), calls)
		}
	}
}

// copies are the calls that put leases into a node. Who holds them is asked of nodes that know.
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
