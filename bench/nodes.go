package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/internal/faultproxy"
)

// Packets to and from a node are delayed by these durations in each direction: the slow node, or each node that is far.
const (
	slowness = 100 * time.Millisecond
	distance = time.Millisecond
)

// nodes measures hand-overs between few and between many clients in four states: all nodes work, one node is slow, one node is
// dead, all nodes are far.
func (b *bench) nodes(ctx context.Context, s store) ([]report.Row, error) {
	at, err := b.counted(ctx, s)
	if err != nil {
		return nil, err
	}
	var rows []report.Row
	for _, state := range []string{"well", "slow", "dead", "far"} {
		for _, n := range b.plan.candidates {
			repeats, failed := make([][]map[string]float64, len(s.locks)), make([]error, len(s.locks))
			for round := range b.plan.nodes.rounds {
				for turn := range s.locks {
					i := (round + turn) % len(s.locks)
					got, err := b.election(ctx, s, at, state, s.locks[i], n)
					if ctx.Err() != nil {
						return nil, ctx.Err()
					}
					if err != nil {
						failed[i] = err
					} else {
						repeats[i] = append(repeats[i], got)
					}
					b.log("%s, %s, %d contenders: %.0f per s, %.1f requests each, p50 %.0f µs, least %.2f, %v", state, s.locks[i].name, n, got["per_s"], got["counted"], got["p50_us"], got["least"], err)
				}
			}
			for i, l := range s.locks {
				row := report.Row{Lock: l.name + ", " + state, Kind: l.kind, Contenders: n, Figures: medians(repeats[i])}
				if failed[i] != nil {
					row.Error = failed[i].Error()
				}
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

// election measures how n clients hand over one lock. Each client has its own connections. Depending on the parameter
// state, the last node is slow or dead, or all nodes are far.
func (b *bench) election(ctx context.Context, s store, at []string, state string, l lock, n int) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute+4*b.plan.nodes.round)
	defer cancel()
	count, leave, err := s.meter(ctx, at, l)
	if err != nil {
		return nil, err
	}
	defer leave()
	at = slices.Clone(at)
	proxied := map[string][]string{"slow": at[len(at)-1:], "dead": at[len(at)-1:], "far": at}[state]
	harm := func(p *faultproxy.Proxy) { p.Close() }
	switch state {
	case "slow":
		harm = func(p *faultproxy.Proxy) { p.Delay(slowness) }
	case "far":
		harm = func(p *faultproxy.Proxy) { p.Delay(distance) }
	}
	proxies := make([]*faultproxy.Proxy, len(proxied))
	for i, node := range proxied {
		address, number, _ := strings.Cut(strings.TrimPrefix(node, "redis://"), "/")
		if proxies[i], err = faultproxy.New(address); err != nil {
			return nil, err
		}
		defer proxies[i].Close()
		proxied[i] = "redis://" + proxies[i].Addr() + "/" + number
	}
	name := &passing{contenders: n, next: make(chan struct{})}
	parties := make([]*party, n)
	defer func() {
		var closing sync.WaitGroup
		for _, p := range parties {
			if p != nil {
				closing.Go(p.close)
			}
		}
		closing.Wait()
	}()
	what := task{Name: fmt.Sprintf("nodes %d", crowdsSoFar.Add(1)), Members: 1}
	for i := range n {
		if parties[i], err = l.join(ctx, at, what); err != nil {
			return nil, err
		}
		if err := parties[i].cycle(ctx); err != nil { // a first cycle, which also opens the connections
			return nil, err
		}
	}
	for _, p := range proxies {
		harm(p)
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	for i, p := range parties {
		group.Go(func() { name.run(running, i, p.members[0]) })
	}
	sleep(ctx, time.Second)
	before, err := count.read(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	sleep(ctx, b.plan.nodes.round)
	took := time.Since(began)
	after, err := count.read(ctx)
	if err != nil {
		return nil, err
	}
	stop()
	group.Wait()
	return name.figures(began, took, after-before)
}

// passing is a lock that contenders hand over to each other, with the events so far. A single contender only acquires
// and releases the lock.
type passing struct {
	contenders int

	mu     sync.Mutex
	next   chan struct{} // closed by the next grant
	events []event
	failed error
}

// run acquires the name, holds it for a moment, releases it, and waits until another contender has acquired it.
func (p *passing) run(ctx context.Context, i int, acquire acquirer) {
	for ctx.Err() == nil {
		h, err := acquire(ctx)
		if err != nil {
			p.fail(ctx, err)
			continue
		}
		next := p.note("got", i)
		if p.contenders > 1 {
			time.Sleep(hold)
		}
		p.note("released", i)
		if err := h.release(context.WithoutCancel(ctx)); err != nil {
			p.fail(ctx, err)
		}
		if p.contenders > 1 {
			select {
			case <-next:
			case <-ctx.Done():
			}
		}
	}
}

// note records an event, and returns the channel that is closed at the next grant of the name.
func (p *passing) note(kind string, member int) (next chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if kind == "got" {
		close(p.next)
		p.next = make(chan struct{})
	}
	p.events = append(p.events, event{kind: kind, member: member, at: time.Now()})
	return p.next
}

func (p *passing) fail(ctx context.Context, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() == nil && p.failed == nil {
		p.failed = err
	}
}

// figures computes the figures from the events in the interval of length d that begins at start.
func (p *passing) figures(start time.Time, d time.Duration, requests float64) (map[string]float64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	events := slices.DeleteFunc(slices.Clone(p.events), func(e event) bool { return e.at.Before(start) || e.at.After(start.Add(d)) })
	figures, err := relayFigures(events, d)
	if err != nil {
		return nil, errors.Join(err, p.failed)
	}
	figures["counted"] = requests / figures["n"]
	greedFigures(figures, events, p.contenders, d)
	return figures, p.failed
}
