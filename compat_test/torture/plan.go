//go:build linux

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// These are the kinds of faults.
const (
	kill          = "kill"           // a worker is killed by SIGKILL
	stop          = "stop"           // a worker is suspended for longer than its lease
	halfOpen      = "half-open"      // a worker is cut off and killed, and its connections stay open
	evict         = "evict"          // a lease is released by force without notice to its holder
	reset         = "reset"          // connections are reset
	cut           = "black hole"     // bytes vanish
	dropHang      = "reply dropped"  // the reply is dropped, and the connection stays silent
	dropReset     = "reply reset"    // the reply is dropped, and the connection is reset
	slow          = "slow link"      //
	serverKill    = "server kill"    // a server is killed and started again
	serverRestart = "server restart" // a server is shut down properly and started again
	serverStop    = "server stop"    // a server is suspended for a while
	clockForward  = "clock forward"  // a server's clock is set forward, and then back
	clockBack     = "clock back"     // a server's clock is set back, and then forward

	// The following faults are for stores of several nodes and for small disks; see cluster.go.
	failover   = "failover"       // the primary dies, and the standby replaces it
	lossy      = "lossy failover" // the same, but the standby has not received the last writes
	leaderKill = "leader kill"    // the leader is killed and started again
	leaderStop = "leader stop"    // the leader is suspended for a while
	partition  = "partition"      // the leader is cut off from its peers, but not from its clients
	diskFull   = "disk full"      // the disk is full for a while
)

// kinds are all kinds of faults that the flag -fault accepts.
var kinds = []string{
	kill, stop, halfOpen, reset, cut, dropHang, dropReset, slow, serverKill, serverRestart, serverStop, clockForward, clockBack,
	failover, lossy, leaderKill, leaderStop, partition, diskFull,
}

// step is one fault of the plan.
type step struct {
	At   time.Duration // the time since the workers started; the step begins later if earlier steps took longer
	Kind string
	Name string        // the lock whose holder is hit
	Slot int           // if Name is empty, the slot of the worker; -1 means all workers
	Node int           // index of the store's node
	For  time.Duration // duration of the fault
	N    int           // for example the number of replies
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

// plan has two lists: the faults, which happen one after the other, and the forced releases,
// which happen at the same time as the faults.
type plan struct{ faults, evictions []step }

// targets returns the locks whose holders the faults hit. It also returns the locks whose leases may be released by force.
func (o settings) targets() (targets, evictable []string) {
	targets = []string{"chain-0", "chain-1", pairName, controlName, "chain-0", pairName, "churn-0", relayName, togetherNames[0], slotNames[0], onceName, history.Board}
	evictable = []string{"chain-0", "chain-1", pairName, controlName, "chain-0", "chain-1", pairName, togetherNames[0], slotNames[0], onceName, history.Board}
	if o.dense {
		targets = append(targets, slices.Repeat([]string{denseName}, len(targets))...)
		evictable = append(evictable, slices.Repeat([]string{denseName}, len(evictable))...)
	}
	return targets, evictable
}

// newPlan plans all faults of a run. The plan depends only on the parameters.
func newPlan(s store, o settings, long time.Duration) plan {
	var p plan
	ttl, workers := o.ttl, o.workers
	targets, evictable := o.targets()
	r := rand.New(rand.NewPCG(o.seed, 1))
	between := func(least, most time.Duration) time.Duration {
		return least + time.Duration(r.Int64N(int64(most-least)))
	}
	deck := s.deck()
	// These faults come first, so that a short run has them, too.
	first := slices.Concat([]string{kill, stop}, slices.Compact(slices.Sorted(slices.Values(s.dealt(s.own)))), []string{kill, stop})
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
				calm += 2 * ttl // long enough to observe that the worker's locks become free
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

// deck returns the faults that a store can have. The plan shuffles them repeatedly.
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

// dealt returns those faults in the slice deck that this run uses.
func (s store) dealt(deck []string) []string {
	return slices.DeleteFunc(slices.Clone(deck), func(kind string) bool {
		return len(s.only) > 0 && kind != kill && kind != stop && !slices.Contains(s.only, kind)
	})
}

// under returns the store with only these kinds of faults. The faults kill and stop are always included, because a run without
// them proves nothing.
func (s store) under(only []string) store {
	s.only = only
	return s
}

// crashable returns the nodes that may be killed and suspended. A pooler is not among these nodes, because it stores nothing.
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
