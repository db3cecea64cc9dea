//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rowlock/rowlock/compat_test/torture/history"
	"github.com/rowlock/rowlock/driver"
)

// run is the torture of one store.
type run struct {
	settings
	store     store
	world     *world
	fleet     *fleet
	log       *history.Log
	inspector driver.Operator
	data      *data
	anonymous bool // true if the store cannot distinguish holders
}

// torture executes the plan and leaves the history in the folder. An error means that the torture itself failed. The checker
// finds errors of the library.
func torture(ctx context.Context, s store, o settings, folder string) (err error) {
	s = s.under(o.only)
	var p plan
	if m := findMutant(o.mutant); m.calm > 0 {
		o.long = m.calm
	} else {
		p = newPlan(s, o, o.long+o.grace)
	}
	r := &run{settings: o, store: s}
	if r.log, err = history.OpenLog(folder, 0); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.log.Close()) }()
	base := job{Store: s.name, Folder: folder, Seed: o.seed, TTL: o.ttl, Pace: o.pace, Dense: o.dense, Mutant: o.mutant}
	if r.world, err = newWorld(ctx, s, folder, base); err != nil {
		return err
	}
	defer r.world.stop()
	supervisor, err := s.open(r.world.direct)
	if err != nil {
		return err
	}
	defer supervisor.close()
	r.inspector, r.data = supervisor.backend.(driver.Operator), supervisor.data
	caps := supervisor.backend.Capabilities()
	r.anonymous, r.ticks, r.shares = caps.Anonymous, caps.Ticks, caps.Shares

	r.fleet = &fleet{world: r.world, log: r.log, places: make([]*process, o.workers)}
	defer r.fleet.abandon()
	for slot := range r.fleet.places {
		if err := r.fleet.start(slot, nil, nil); err != nil {
			return err
		}
	}
	begin := time.Now()
	if err := r.disturb(ctx, p, begin); err != nil {
		return err
	}
	if err := r.heal(ctx); err != nil {
		return err
	}
	if err := r.fleet.end(time.Minute); err != nil {
		return err
	}
	r.inspect(ctx)
	result := &history.Run{Meta: history.Meta{
		Backend: s.name, Seed: o.seed, TTL: o.ttl, Workers: o.workers, Dense: o.dense, Took: time.Since(begin), Repeat: o.repeat(s.name), Expect: s.expect,
	}}
	harvesting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := r.world.harvest(harvesting, result); err != nil {
		return err
	}
	return result.Write(folder)
}

// disturb executes the plan for the requested time. It continues for longer if the run has not seen enough by then.
func (r *run) disturb(ctx context.Context, p plan, begin time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, begin.Add(r.long+r.grace))
	defer cancel()
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() {
		defer cancel()
		for wait(ctx, r.long); ctx.Err() == nil && !r.enough(ctx); {
			wait(ctx, time.Second)
		}
	})
	beside.Go(func() {
		for _, s := range p.evictions {
			if wait(ctx, time.Until(begin.Add(s.At))); ctx.Err() == nil {
				r.evict(ctx, s)
			}
		}
	})
	if r.store.expect.Pruned {
		beside.Go(func() {
			for ; ctx.Err() == nil; wait(ctx, 100*time.Millisecond) {
				// Pruning a name forgets its last tick. So rows are pruned only half of the time, and ticks can be
				// checked in the other half.
				if time.Since(begin)/(2*r.ttl)%2 == 0 {
					r.prune(ctx)
				}
			}
		})
	}
	for _, s := range p.faults {
		if wait(ctx, time.Until(begin.Add(s.At))); ctx.Err() != nil {
			break
		}
		if err := r.inflict(ctx, s); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// prune deletes the rows of all free locks. The store may be unreachable at this moment.
func (r *run) prune(ctx context.Context) {
	e := history.Event{Kind: history.Pruned, Wall: time.Now().UnixNano(), At: history.Now()}
	n, err := r.inspector.Prune(ctx, 0)
	if e.End = history.Now(); n > 0 || err != nil {
		r.log.Write(e)
	}
}

// inspect records for each lock whether it is still held. All workers have ended. So every lock must become free within
// the limit that also holds after a crash: the TTL, plus the time that the store needs to detect the crash.
func (r *run) inspect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.ttl+r.store.expect.Crash)
	defer cancel()
	for _, name := range r.lockNames() {
		e := history.Event{Kind: history.Empty, Name: name, Outcome: history.Held}
		for ; e.Outcome != history.OK && ctx.Err() == nil; wait(ctx, 20*time.Millisecond) {
			s, err := r.inspector.Inspect(ctx, driver.Key{Name: name})
			if err == nil && (s.State == driver.StateFree || s.State == driver.StateExpired) {
				e.Outcome = history.OK
			}
		}
		r.log.Write(e)
	}
}

// heal ends all faults and waits until every lock has been granted after the last fault.
// A system that survives all faults but then makes no progress has failed.
func (r *run) heal(ctx context.Context) error {
	for _, p := range r.fleet.places {
		for _, n := range p.network {
			n.Restore()
		}
	}
	healed := history.Event{Kind: history.Healed, At: history.Now()}
	r.log.Write(healed)
	limit := time.Now().Add(2*r.ttl + 30*time.Second)
	for _, name := range r.lockNames() {
		for !r.fleet.grantedSince(name, healed.At) && time.Now().Before(limit) { // if a name is not granted by limit, the checker reports it
			if wait(ctx, 20*time.Millisecond); ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return nil
}

func (o settings) repeat(backend string) string {
	target, only := "torture", ""
	if o.dense {
		target = "torture-dense"
	}
	if len(o.only) > 0 {
		only = fmt.Sprintf(` -fault="%s"`, strings.Join(o.only, ","))
	}
	return fmt.Sprintf("make %s BACKEND=%s SEED=%d FOR=%s FLAGS='-workers=%d -ttl=%s -pace=%s%s'", target, backend, o.seed, o.long, o.workers, o.ttl, o.pace, only)
}

func newFolder(parent, name string) (string, error) {
	if parent != "" {
		folder := parent + "/" + name
		return folder, os.MkdirAll(folder, 0o755)
	}
	return os.MkdirTemp("", "rowlock-torture-"+name+"-")
}
