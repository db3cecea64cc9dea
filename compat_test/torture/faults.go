//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/compat_test/torture/history"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
)

// inflict causes one fault of the plan, and returns when the fault is over. An error means that the torture failed, not that the
// library failed.
func (r *run) inflict(ctx context.Context, s step) error {
	e := history.Event{Kind: history.Fault, Outcome: s.Kind, Name: s.Name, Wall: time.Now().UnixNano(), At: history.Now()}
	var err error
	switch s.Kind {
	case kill, stop:
		err = r.hitHolder(s, &e)
	case halfOpen:
		err = r.halfOpen(ctx, s, &e)
	case serverKill, serverRestart, serverStop, clockForward, clockBack:
		e.Hit = true
		err = r.hitServer(ctx, s)
	case failover, lossy, leaderKill, leaderStop, partition, diskFull:
		e.Hit = true
		err = r.world.whole.hit(ctx, s)
	default:
		r.hitNetwork(ctx, s, &e)
	}
	e.End = history.Now()
	r.log.Write(e)
	if err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	return nil
}

// hitHolder kills or suspends the current holder of a lock.
func (r *run) hitHolder(s step, e *history.Event) error {
	p, _ := r.fleet.awaitHolder(s.Name, r.ttl)
	if p == nil {
		p = r.fleet.places[s.Slot]
	}
	e.Victim = p.worker
	e.At = history.Now()
	if s.Kind == kill {
		r.fleet.kill(p)
		_, e.Hit = r.fleet.heldBy(p, s.Name)
		p.stdin.Close()
		if e.Hit {
			r.fleet.saw(func(s *seen) { s.kills++ })
		}
		return r.fleet.start(p.slot, p.network, p.addrs)
	}
	p.frozen.Lock()
	defer p.frozen.Unlock()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	e.At = history.Now()
	_, e.Hit = r.fleet.heldBy(p, s.Name)
	time.Sleep(s.For)
	return p.cmd.Process.Signal(syscall.SIGCONT)
}

// halfOpen makes a worker vanish without closing its connections, as in a power failure. The server still sees the connections as
// open.
func (r *run) halfOpen(ctx context.Context, s step, e *history.Event) error {
	p := r.fleet.places[s.Slot]
	e.Victim = p.worker
	p.network.each((*faultproxy.Proxy).Cut)
	r.fleet.kill(p)
	e.Hit = len(p.holds) > 0
	p.stdin.Close()
	if err := r.fleet.start(p.slot, nil, nil); err != nil {
		return err
	}
	wait(ctx, s.For)
	p.network.each((*faultproxy.Proxy).Close)
	return nil
}

func (r *run) hitServer(ctx context.Context, s step) error {
	server := r.world.running[s.Node]
	restart := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return server.Restart(ctx)
	}
	switch s.Kind {
	case serverKill:
		server.Kill()
		wait(ctx, s.For)
		return restart()
	case serverRestart:
		if err := server.Shutdown(); err != nil {
			return err
		}
		wait(ctx, s.For)
		return restart()
	case serverStop:
		signalAll(server, syscall.SIGSTOP)
		wait(ctx, s.For)
		signalAll(server, syscall.SIGCONT)
		return nil
	}
	shift := 2 * r.ttl
	if s.Kind == clockBack {
		shift = -shift
	}
	if err := server.SetClock(shift); err != nil {
		return err
	}
	wait(ctx, s.For)
	return server.SetClock(0)
}

func (r *run) hitNetwork(ctx context.Context, s step, e *history.Event) {
	var all network
	for slot, p := range r.fleet.places {
		if s.Slot < 0 || slot == s.Slot {
			all = append(all, p.network...)
			e.Victim = p.worker
		}
	}
	if s.Slot < 0 {
		e.Victim = 0
	}
	before := all.sent()
	switch s.Kind {
	case reset:
		all.each((*faultproxy.Proxy).Reset)
		wait(ctx, r.ttl/10)
	case cut:
		all.each((*faultproxy.Proxy).Cut)
		wait(ctx, s.For)
		all.each((*faultproxy.Proxy).Restore)
		// This fault always counts as a hit. The check at the end of this method cannot see it, because the proxies do
		// not count bytes that they drop.
		e.Hit = true
	case slow:
		all.each(func(p *faultproxy.Proxy) { p.Delay(time.Duration(s.N) * time.Millisecond) })
		wait(ctx, s.For)
		all.each(func(p *faultproxy.Proxy) { p.Delay(0) })
	case dropHang, dropReset:
		fate := faultproxy.Hang
		if s.Kind == dropReset {
			fate = faultproxy.Reset
		}
		all.each(func(p *faultproxy.Proxy) { p.DropReplies(s.N, fate) })
		wait(ctx, s.For)
		all.each(func(p *faultproxy.Proxy) { p.DropReplies(0, fate) })
	}
	e.Hit = e.Hit || all.sent() > before
}

// evict releases a live lease by force. The holder detects the release at its next renewal. If s.N is set, the holder
// is suspended until another process has acquired the lock. The holder then continues to run, while it may still trust
// its lease.
func (r *run) evict(ctx context.Context, s step) {
	p, held := r.fleet.awaitHolder(s.Name, r.ttl/4)
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.ttl)
	defer cancel()
	if s.N > 0 && p.frozen.TryLock() {
		defer p.frozen.Unlock()
		_ = p.cmd.Process.Signal(syscall.SIGSTOP)
		defer p.cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // Signal fails if the process was killed meanwhile
		if now, holds := r.fleet.heldBy(p, s.Name); holds {
			held = now
		}
	} else {
		s.N = 0
	}
	e := history.Event{Kind: history.Evict, Name: held.Name, Token: held.Token, Victim: p.worker, Outcome: history.OK, Wall: time.Now().UnixNano(), At: history.Now()}
	token := driver.Token(held.Token)
	if r.anonymous {
		token, e.Victim = 0, 0 // token 0 releases the lock for any holder
	}
	// The event is also written before the request: the request may arrive although its reply gets lost.
	begin := e
	begin.Outcome = history.Unknown
	r.log.Write(begin)
	err := r.inspector.ForceRelease(ctx, driver.Key{Name: held.Name}, token, true)
	e.End = history.Now()
	switch {
	case errors.Is(err, driver.ErrNotHeld):
		e.Outcome = history.Ended
	case err != nil:
		e.Outcome, e.Detail = history.Failed, err.Error()
	default:
		r.fleet.saw(func(s *seen) { s.evicted++ })
	}
	r.log.Write(e)
	for end := time.Now().Add(r.ttl / 2); s.N > 0 && err == nil && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, now := r.fleet.holder(held.Name); now.Token > held.Token {
			time.Sleep(r.ttl / 100) // waits, because the new holder reads the chain first and has not written yet
			return
		}
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
