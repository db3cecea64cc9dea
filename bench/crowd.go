package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// clients is how many clients a crowd is spread over, each with connections of its own, as over so many
// processes.
const clients = 8

// hold is how long whoever has the lock keeps it.
const hold = time.Millisecond

// acquirer waits for the lock, and returns how to release it.
type acquirer func(context.Context) (release func(context.Context) error, err error)

// crowd waits for one lock. Of so many that wait, one more than there are waiters, each has an acquirer.
type crowd struct {
	name string
	join func(ctx context.Context, members int) (all []acquirer, leave func(), err error)
}

// crowds prints what a hand-over from each holder to one of so many waiters takes, for every library in turn.
func (p runs) crowds(ctx context.Context, store string, waiters int, all []crowd, count meter, counted string) error {
	repeats := make([][]crossing, len(all))
	for repeat := range p.rounds {
		for turn := range all {
			i := (repeat + turn) % len(all)
			got, err := p.handOver(ctx, all[i], waiters+1, count)
			if err != nil {
				return fmt.Errorf("%s: %w", all[i].name, err)
			}
			repeats[i] = append(repeats[i], got)
		}
	}
	fmt.Printf("%d repeats of %s each, in turn:\n\n", p.rounds, p.round)
	fmt.Printf("| %s, %d waiting | p50 | p99 | hand-overs per s | %s | least served |\n", store, waiters, counted)
	fmt.Println("| --- | ---: | ---: | ---: | ---: | ---: |")
	for i, one := range all {
		of := func(what func(crossing) float64) float64 {
			values := make([]float64, len(repeats[i]))
			for n, r := range repeats[i] {
				values[n] = what(r)
			}
			return median(values)
		}
		rate, least := of(func(c crossing) float64 { return c.rate }), "–"
		if rate*p.round.Seconds() > 10*float64(waiters) { // else it is chance
			least = fmt.Sprintf("%.2f", of(func(c crossing) float64 { return c.least }))
		}
		fmt.Printf("| %s | %s | %s | %.0f | %.1f | %s |\n", one.name,
			time.Duration(of(func(c crossing) float64 { return float64(c.p50) })),
			time.Duration(of(func(c crossing) float64 { return float64(c.p99) })),
			rate, of(func(c crossing) float64 { return c.cost }), least)
	}
	fmt.Println()
	return nil
}

// crossing is what hand-overs took, from before the release was called until the next holder had the lock.
type crossing struct {
	p50, p99 time.Duration
	rate     float64 // hand-overs in a second
	cost     float64 // counted by the server for each hand-over
	least    float64 // what the least served got, of its fair share
}

// handOver has a crowd pass the lock on. Whoever has released it stands in line again as soon as the next one has it, so that each
// hand-over is from one to another, and as many wait each time.
func (p runs) handOver(ctx context.Context, c crowd, members int, count meter) (crossing, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute+10*p.round)
	defer cancel()
	all, leave, err := c.join(ctx, members)
	if err != nil {
		return crossing{}, err
	}
	defer leave()
	relay := &relay{served: make([]int, members), passed: make(chan struct{})}
	var group sync.WaitGroup
	failures := make(chan error, members)
	for i, acquire := range all {
		group.Go(func() {
			for ctx.Err() == nil {
				if err := relay.leg(ctx, i, acquire); err != nil && ctx.Err() == nil {
					failures <- err
					cancel()
				}
			}
		})
	}
	stop := func() error {
		cancel()
		group.Wait()
		select {
		case err := <-failures:
			return err
		default:
			return nil
		}
	}
	sleep(ctx, p.round/2) // all are in line
	before, err := count.read(ctx)
	began := time.Now()
	relay.measure(true)
	sleep(ctx, p.round)
	for relay.measured() == 0 && ctx.Err() == nil { // whoever polls may take longer than a short round
		sleep(ctx, 10*time.Millisecond)
	}
	relay.measure(false)
	took := time.Since(began)
	after, failed := count.read(ctx)
	if stopped := stop(); stopped != nil {
		return crossing{}, stopped
	}
	if err != nil || failed != nil {
		return crossing{}, fmt.Errorf("count: %w, %w", err, failed)
	}
	n := relay.measured()
	if n == 0 {
		return crossing{}, errors.New("nothing was handed over")
	}
	slices.Sort(relay.took)
	return crossing{
		p50: percentile(relay.took, 50), p99: percentile(relay.took, 99), rate: float64(n) / took.Seconds(), cost: (after - before) / float64(n),
		least: float64(slices.Min(relay.served)) * float64(members) / float64(n),
	}, nil
}

// relay is what the members of a crowd tell of.
type relay struct {
	mu        sync.Mutex
	measuring bool
	released  time.Time     // when the last one began to release
	passed    chan struct{} // closed when the next one has the lock
	took      []time.Duration
	served    []int
}

// leg is one holding of the lock by one member.
func (r *relay) leg(ctx context.Context, member int, acquire acquirer) error {
	release, err := acquire(ctx)
	if err != nil {
		return err
	}
	r.got(member, time.Now())
	time.Sleep(hold)
	passed := r.releases()
	if err := release(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	select {
	case <-passed:
	case <-ctx.Done():
	}
	return nil
}

func (r *relay) got(member int, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.passed)
	r.passed = make(chan struct{})
	if r.measuring && !r.released.IsZero() {
		r.took = append(r.took, at.Sub(r.released))
		r.served[member]++
	}
}

// releases returns what is closed when the next one has the lock.
func (r *relay) releases() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.released = time.Now()
	return r.passed
}

func (r *relay) measure(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.measuring = on
}

func (r *relay) measured() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.took)
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
