package redislock

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// maxBatch is how many leases one run of the script renews. The server executes no other command during the run.
const maxBatch = 100

// Renew implements [driver.Backend]. It renews all leases in one round trip. One run of the script renews up to a
// hundred leases, on a Cluster only leases of one slot. If a run fails, the outcomes of its leases are unknown. Leases
// in other runs are not affected.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	return do(ctx, b, fmt.Sprintf("renew %d leases", len(grants)), driver.Key{}, func(ctx context.Context) ([]driver.Outcome, error) {
		outcomes := make([]driver.Outcome, len(grants))
		return outcomes, b.renew(ctx, grants, outcomes)
	})
}

// batches returns the indexes of the grants in batches. A batch has up to a hundred grants of one slot, and one run of
// the script renews them.
func (b *Backend) batches(grants []driver.Grant) (list [][]int) {
	open := make(map[int]int) // for each slot the index of its last batch
	for i, g := range grants {
		slot := 0
		if redisbase.IsCluster(b.client) {
			slot = redisbase.Slot(b.options.prefix.Encode(g.Key))
		}
		at, ok := open[slot]
		if !ok || len(list[at]) == maxBatch {
			at = len(list)
			open[slot], list = at, append(list, nil)
		}
		list[at] = append(list[at], i)
	}
	return list
}

// renewals returns the calls that renew the batches.
func (b *Backend) renewals(grants []driver.Grant, batches [][]int) []redisbase.Call {
	calls := make([]redisbase.Call, len(batches))
	for i, batch := range batches {
		var keys []string
		args := []any{b.options.retention.Milliseconds()}
		for _, n := range batch {
			g := grants[n]
			keys = append(keys, b.options.prefix.Encode(g.Key))
			args = append(args, g.Nonce.String(), g.Token.String(), redisbase.Micros(g.TTL), redisbase.Micros(g.MinHold), redisbase.Micros(g.HandoverDelay))
		}
		calls[i] = renewScript.On(keys, args...)
	}
	return calls
}

// renew sets the outcomes of the leases. It returns an error if it knows the outcome of no lease.
//
// While a slot moves to another server, a run for several locks works only if one server has all of them. A run for one
// lock works on the server that has this lock.
func (b *Backend) renew(ctx context.Context, grants []driver.Grant, outcomes []driver.Outcome) error {
	batches := b.batches(grants)
	if b.options.replicas > 0 {
		return b.renewReplicated(ctx, grants, batches, outcomes)
	}
	cmds := redisbase.RunAll(ctx, b.client, b.renewals(grants, batches))
	var moving [][]int
	for i, batch := range batches {
		if len(batch) > 1 && redisbase.Says(cmds[i].Err(), "TRYAGAIN") {
			moving = slices.AppendSeq(moving, slices.Chunk(batch, 1))
		}
	}
	if len(moving) > 0 {
		batches, cmds = append(batches, moving...), append(cmds, redisbase.RunAll(ctx, b.client, b.renewals(grants, moving))...)
	}
	return settle(batches, cmds, outcomes)
}

// settle decodes the replies into outcomes. It fails only if all runs failed.
func settle(batches [][]int, cmds []*redis.Cmd, outcomes []driver.Outcome) error {
	var failure error
	failed := 0
	for i, batch := range batches {
		renewed, err := cmds[i].BoolSlice()
		if err == nil && len(renewed) != len(batch) {
			err = fmt.Errorf("%d outcomes for %d leases", len(renewed), len(batch))
		}
		if err != nil {
			failed++
			failure = err
			continue
		}
		for j, n := range batch {
			outcomes[n] = driver.Lost
			if renewed[j] {
				outcomes[n] = driver.Renewed
			}
		}
	}
	if failed < len(batches) {
		return nil
	}
	return failure
}

// renewReplicated sends the batches to each primary separately, because WAIT applies to one connection. If too few
// replicas have confirmed a renewal, its outcome is unknown. A lease that the primary reports as lost is lost in any
// case.
func (b *Backend) renewReplicated(ctx context.Context, grants []driver.Grant, batches [][]int, outcomes []driver.Outcome) error {
	primaries := make(map[*redis.Client][][]int)
	var failure error
	for _, batch := range batches {
		primary, err := b.primary(ctx, b.options.prefix.Encode(grants[batch[0]].Key))
		if err != nil {
			failure = err
			continue
		}
		primaries[primary] = append(primaries[primary], batch)
	}
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		known bool
	)
	for primary, share := range primaries {
		group.Go(func() {
			cmds, confirmed, err := b.writeAll(ctx, primary, b.renewals(grants, share))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				err = settle(share, cmds, outcomes)
			}
			if err != nil {
				failure = err
				return
			}
			known = true
			if confirmed >= b.options.replicas {
				return
			}
			for _, n := range slices.Concat(share...) {
				if outcomes[n] == driver.Renewed {
					outcomes[n] = driver.Unknown
				}
			}
		})
	}
	group.Wait()
	if known {
		return nil
	}
	return failure
}
