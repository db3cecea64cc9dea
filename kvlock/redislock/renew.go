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

// batch is one run of the script, with the indexes of its grants.
type batch struct {
	redisbase.Call
	grants []int
}

// Renew implements [driver.Backend]. It renews all leases in one round trip. One run of the script renews up to a
// hundred leases, on a Cluster only leases of one slot. If a run fails, the outcomes of its leases are unknown. Leases
// in other runs are not affected.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	outcomes, err := do(ctx, b, func(ctx context.Context) ([]driver.Outcome, error) {
		outcomes := make([]driver.Outcome, len(grants))
		return outcomes, b.renew(ctx, b.batches(grants), outcomes)
	})
	if err != nil {
		return nil, redisbase.Describe(ctx, pkg, fmt.Sprintf("renew %d leases", len(grants)), driver.Key{}, err)
	}
	return outcomes, nil
}

// batches puts up to a hundred grants of one slot into each batch.
func (b *Backend) batches(grants []driver.Grant) []*batch {
	cluster := redisbase.IsCluster(b.client)
	open := make(map[int]*batch)
	var list []*batch
	for i, g := range grants {
		key, at := b.options.prefix.Encode(g.Key), 0
		if cluster {
			at = redisbase.Slot(key)
		}
		now := open[at]
		if now == nil || len(now.grants) == maxBatch {
			now = &batch{Call: renewScript.On(nil, b.options.retention.Milliseconds())}
			open[at], list = now, append(list, now)
		}
		now.grants = append(now.grants, i)
		now.Keys = append(now.Keys, key)
		now.Args = append(now.Args, g.Nonce.String(), g.Token.String(), redisbase.Micros(g.TTL), redisbase.Micros(g.MinHold), redisbase.Micros(g.HandoverDelay))
	}
	return list
}

// renew sets the outcomes of the leases. It returns an error if it knows the outcome of no lease.
func (b *Backend) renew(ctx context.Context, list []*batch, outcomes []driver.Outcome) error {
	if b.options.replicas > 0 {
		return b.renewReplicated(ctx, list, outcomes)
	}
	cmds := redisbase.RunAll(ctx, b.client, callsOf(list))
	var moving []*batch
	for i, one := range list {
		if len(one.grants) > 1 && redisbase.Says(cmds[i].Err(), "TRYAGAIN") {
			moving = append(moving, b.apart(one)...)
		}
	}
	if len(moving) == 0 {
		return settle(list, cmds, outcomes)
	}
	return settle(slices.Concat(list, moving), slices.Concat(cmds, redisbase.RunAll(ctx, b.client, callsOf(moving))), outcomes)
}

// apart splits the batch in the parameter one into a batch for each lock. While a slot moves to another server, a run
// for several locks works only if one server has all of them. A run for one lock works on the server that has this
// lock.
func (b *Backend) apart(one *batch) []*batch {
	list := make([]*batch, len(one.grants))
	perLock := (len(one.Args) - 1) / len(one.grants)
	for i := range one.grants {
		at := 1 + i*perLock
		list[i] = &batch{
			Call:   one.Script.On(one.Keys[i:i+1], append([]any{one.Args[0]}, one.Args[at:at+perLock]...)...),
			grants: one.grants[i : i+1],
		}
	}
	return list
}

func callsOf(list []*batch) []redisbase.Call {
	calls := make([]redisbase.Call, len(list))
	for i, one := range list {
		calls[i] = one.Call
	}
	return calls
}

// settle decodes the replies into outcomes. It fails only if all runs failed.
func settle(list []*batch, cmds []*redis.Cmd, outcomes []driver.Outcome) error {
	var failure error
	failed := 0
	for i, one := range list {
		renewed, err := cmds[i].BoolSlice()
		if err == nil && len(renewed) != len(one.grants) {
			err = fmt.Errorf("%d outcomes for %d leases", len(renewed), len(one.grants))
		}
		if err != nil {
			failed++
			failure = err
			continue
		}
		for j, n := range one.grants {
			outcomes[n] = driver.Lost
			if renewed[j] {
				outcomes[n] = driver.Renewed
			}
		}
	}
	if failed < len(list) {
		return nil
	}
	return failure
}

// renewReplicated sends the runs to each primary separately, because WAIT applies to one connection. If too few
// replicas have confirmed a renewal, its outcome is unknown. A lease that the primary reports as lost is lost in any
// case.
func (b *Backend) renewReplicated(ctx context.Context, list []*batch, outcomes []driver.Outcome) error {
	primaries := make(map[*redis.Client][]*batch)
	var failure error
	for _, one := range list {
		primary, err := b.primary(ctx, one.Keys[0])
		if err != nil {
			failure = err
			continue
		}
		primaries[primary] = append(primaries[primary], one)
	}
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		known bool
	)
	for primary, share := range primaries {
		group.Go(func() {
			cmds, confirmed, err := b.writeAll(ctx, primary, callsOf(share))
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
			for _, n := range slices.Concat(grantsOf(share)...) {
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

func grantsOf(list []*batch) [][]int {
	all := make([][]int, len(list))
	for i, one := range list {
		all[i] = one.grants
	}
	return all
}
