package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rowlock/rowlock/bench/report"
)

// deaths measures how soon another process acquires the lock after the holder's process was killed,
// and after the holder's network was cut. In the second case it also measures how soon the holder detects
// that its lease is lost.
func (b *bench) deaths(ctx context.Context, s store) ([]report.Row, error) {
	at, err := b.world.ready(ctx, s)
	if err != nil {
		return nil, err
	}
	var rows []report.Row
	var locks []lock
	for _, l := range s.locks {
		if !b.leavesOut(s, l) && (l.kind == report.Rowlock || l.keeps && !b.plan.quick) {
			locks, rows = append(locks, l), append(rows, report.Row{Lock: l.name, Kind: l.kind})
		}
	}
	var group sync.WaitGroup
	for i, l := range locks { // the locks are measured at the same time, because most of the time is spent waiting
		group.Go(func() {
			b.few <- struct{}{}
			defer func() { <-b.few }()
			var repeats []map[string]float64
			for range b.plan.deaths {
				figures, err := b.deathOf(ctx, s, at, l)
				if err != nil {
					rows[i].Error = err.Error()
				}
				repeats = append(repeats, figures)
			}
			rows[i].Figures = medians(repeats)
			b.log("%s, %s: %v %s", s.title, l.name, rows[i].Figures, rows[i].Error)
		})
	}
	group.Wait()
	return rows, ctx.Err()
}

// deathOf measures two holders at the same time: one is killed, and one is cut off from the network.
func (b *bench) deathOf(ctx context.Context, s store, at []string, l lock) (map[string]float64, error) {
	figures, cut, group := map[string]float64{}, map[string]float64{}, sync.WaitGroup{}
	var errs [2]error
	group.Go(func() { errs[0] = b.killed(ctx, s, at, l, figures) })
	if address.MatchString(at[0]) {
		group.Go(func() { errs[1] = b.cut(ctx, s, at, l, cut) })
	}
	group.Wait()
	maps.Copy(figures, cut)
	return figures, errors.Join(errs[:]...)
}

func (b *bench) killed(ctx context.Context, s store, at []string, l lock, figures map[string]float64) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	holder, waiter, err := b.holderAndWaiter(ctx, s, at, at, l)
	defer holder.dismiss()
	defer waiter.dismiss()
	if err != nil {
		return err
	}
	began := time.Now()
	holder.kill()
	got, err := b.first(ctx, waiter, "got")
	if err != nil {
		return err
	}
	figures["killed_next_ms"] = ms(got.Sub(began))
	return nil
}

// holderAndWaiter starts two processes: the first holds the lock, and the second waits for the lock.
func (b *bench) holderAndWaiter(ctx context.Context, s store, at, from []string, l lock) (holder, waiter *crew, err error) {
	t := task{Name: fmt.Sprintf("death %d %d", time.Now().Unix(), crowdsSoFar.Add(1)), Members: 1, TTL: b.plan.ttl}
	if holder, err = hire(ctx, job{Store: s.id, Lock: l.name, At: at, Role: keepRole, Task: t}, 1); err != nil {
		return nil, nil, err
	}
	holder.tellAll("start")
	if _, err = b.first(ctx, holder, "got"); err == nil {
		waiter, err = hire(ctx, job{Store: s.id, Lock: l.name, At: from, Role: keepRole, Task: t}, 1)
	}
	if err != nil {
		return holder, nil, err
	}
	waiter.tellAll("start")
	sleep(ctx, 300*time.Millisecond+rand.N(b.plan.ttl/3)) // after this delay, the waiter is in the queue, and a random part of the renewal interval has passed
	if _, lost := holder.find("lost"); lost {
		err = errors.New("the holder lost the lock although no fault had happened")
	}
	return holder, waiter, err
}

// first waits for the first event of the kind, and returns its time.
func (b *bench) first(ctx context.Context, c *crew, kind string) (at time.Time, err error) {
	limit := 3*b.plan.ttl/2 + 2*time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = c.await(ctx, func() bool { return c.count(kind) > 0 })
	if err != nil {
		return at, fmt.Errorf("no event %q within %s: %w", kind, limit, err)
	}
	e, _ := c.find(kind)
	return e.at, nil
}

func ms(d time.Duration) float64 { return float64(d.Milliseconds()) }
