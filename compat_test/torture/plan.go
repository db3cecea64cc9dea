//go:build linux

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"
)

// Kinds of faults.
const (
	kill          = "kill"           // a worker, by SIGKILL
	stop          = "stop"           // a worker, for longer than its lease
	halfOpen      = "half-open"      // a worker is cut off and killed: its connections stay
	evict         = "evict"          // a holder, who is not told
	reset         = "reset"          // of connections
	cut           = "black hole"     // bytes vanish
	dropHang      = "reply dropped"  // and then silence
	dropReset     = "reply reset"    // the reply is dropped and the connection reset
	slow          = "slow link"      //
	serverKill    = "server kill"    // and start again
	serverRestart = "server restart" // in good order
	serverStop    = "server stop"    // for a while
	clockForward  = "clock forward"  // of the server, and back
	clockBack     = "clock back"     // and forward again

	// Of stores of several nodes; see cluster.go.
	failover   = "failover"       // the primary dies, and the standby takes its place
	lossy      = "lossy failover" // a standby that has not got the last writes
	leaderKill = "leader kill"    // and start again
	leaderStop = "leader stop"    // for a while
	partition  = "partition"      // the leader is cut off from its peers, and not from its clients
	diskFull   = "disk full"      // for a while
)

// kinds are all that can be asked for.
var kinds = []string{
	kill, stop, halfOpen, reset, cut, dropHang, dropReset, slow, serverKill, serverRestart, serverStop, clockForward, clockBack,
	failover, lossy, leaderKill, leaderStop, partition, diskFull,
}

// step is one fault of the plan.
type step struct {
	At   time.Duration // since the workers were started; later if the steps before took longer
	Kind string
	Name string        // the holder of this lock is hit
	Slot int           // or else this worker; -1: all, of what can hit all
	Node int           // of the store
	For  time.Duration // how long it lasts
	N    int           // how many replies
}

func (s step) String() string {
	whom := "of worker " + fmt.Sprint(s.Slot)
	if s.Slot < 0 {
		whom = "of all workers"
	}
	switch s.Kind {
	case kill, stop, evict:
		whom = "the holder of " + s.Name
	case halfOpen:
		whom = "worker " + fmt.Sprint(s.Slot)
	case serverKill, serverRestart, serverStop, clockForward, clockBack:
		whom = "node " + fmt.Sprint(s.Node)
	case failover, lossy, leaderKill, leaderStop, partition, diskFull:
		whom = "the store"
	}
	return fmt.Sprintf("%8s  %-14s %-24s for %s", s.At.Round(time.Millisecond), s.Kind, whom, s.For.Round(time.Millisecond))
}

// plan is two lists: what is done one after the other, and evictions, which go on beside.
type plan struct{ faults, evictions []step }

// targets are the locks whose holders are hit, and evictable those that are ended by force.
func (o settings) targets() (targets, evictable []string) {
	targets = []string{"chain-0", "chain-1", pairName, controlName, "chain-0", pairName, "churn-0", relayName}
	evictable = []string{"chain-0", "chain-1", pairName, controlName}
	if o.dense {
		targets = append(targets, slices.Repeat([]string{denseName}, len(targets))...)
		evictable = append(evictable, slices.Repeat([]string{denseName}, len(evictable))...)
	}
	return targets, evictable
}

// newPlan lays out all faults of a run. It depends on nothing but its arguments.
func newPlan(s store, o settings, long time.Duration) plan {
	var p plan
	ttl, workers := o.ttl, o.workers
	targets, evictable := o.targets()
	r := rand.New(rand.NewPCG(o.seed, 1))
	between := func(least, most time.Duration) time.Duration {
		return least + time.Duration(r.Int64N(int64(most-least)))
	}
	deck := s.deck()
	first := slices.Concat([]string{kill, stop}, slices.Compact(slices.Sorted(slices.Values(s.dealt(s.own)))), []string{kill, stop}) // so that a short run has them
	for at := ttl; at < long; first = nil {
		dealt := slices.Clone(first)
		for _, i := range r.Perm(len(deck)) {
			dealt = append(dealt, deck[i])
		}
		for _, kind := range dealt {
			f := step{At: at, Kind: kind, Name: targets[r.IntN(len(targets))], Slot: r.IntN(workers), N: 1 + r.IntN(3)}
			if len(s.crashable()) > 0 {
				f.Node = r.IntN(len(s.crashable()))
			}
			calm := between(ttl/10, ttl/2)
			switch f.Kind {
			case kill:
				calm += 2 * ttl // to see when its locks are free
			case stop:
				f.For = between(ttl+ttl/10, 3*ttl)
			case serverStop, cut, halfOpen, leaderStop, partition, diskFull:
				f.For = between(ttl/3, 5*ttl/2)
			case serverKill, serverRestart, leaderKill:
				f.For = between(0, 3*ttl/2)
			case clockForward, clockBack:
				f.For = between(ttl, 2*ttl)
			case failover, lossy:
				f.For = between(ttl/2, 3*ttl/2)
			case slow:
				f.For = between(ttl, 2*ttl)
				f.N = 5 + r.IntN(int(ttl.Milliseconds())/5)
			case dropHang, dropReset:
				f.For = between(ttl/10, ttl/2)
			}
			if f.Kind == reset || f.Kind == cut {
				f.Slot = r.IntN(workers+1) - 1
			}
			p.faults = append(p.faults, f)
			at += f.For + calm
		}
	}
	p.faults = slices.DeleteFunc(p.faults, func(f step) bool { return f.At >= long })
	for at := ttl; at < long; at += between(ttl/5, ttl) {
		p.evictions = append(p.evictions, step{At: at, Kind: evict, Name: evictable[r.IntN(len(evictable))], N: r.IntN(2)})
	}
	return p
}

// deck is what can be done to a store, in no order; it is dealt again and again.
func (s store) deck() []string {
	deck := []string{kill, kill, stop, stop, stop}
	if s.network {
		deck = append(deck, halfOpen, reset, reset, cut, cut, dropHang, dropReset, dropReset, slow)
	}
	if s.crash {
		deck = append(deck, serverKill)
	}
	if s.shutdown {
		deck = append(deck, serverRestart)
	}
	if s.stop {
		deck = append(deck, serverStop)
	}
	if s.clock {
		deck = append(deck, clockForward, clockBack)
	}
	return s.dealt(append(deck, s.own...))
}

// dealt are those of some kinds that this run deals.
func (s store) dealt(deck []string) []string {
	return slices.DeleteFunc(slices.Clone(deck), func(kind string) bool {
		return len(s.only) > 0 && kind != kill && kind != stop && !slices.Contains(s.only, kind)
	})
}

// under is the store with these kinds of faults only, besides those of the workers without which a run shows nothing.
func (s store) under(only []string) store {
	s.only = only
	return s
}

// crashable are the nodes that may be killed and stopped: not a pooler, which keeps nothing.
func (s store) crashable() []server {
	if i := slices.IndexFunc(s.servers, func(n server) bool { return n.behind }); i >= 0 {
		return s.servers[i : i+1]
	}
	return s.servers
}

func (p plan) print(out io.Writer) {
	all := append(slices.Clone(p.faults), p.evictions...)
	slices.SortStableFunc(all, func(a, b step) int { return int(a.At - b.At) })
	for _, s := range all {
		fmt.Fprintln(out, s)
	}
}
