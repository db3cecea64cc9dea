//go:build unix

package processes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// fault is a failure of a worker at a critical point.
type fault int

const (
	stop   fault = iota // suspend the worker between read and write, for longer than the TTL
	evict               // force-release the worker's lock between read and write: the worker still trusts its lease when the next holder has sealed
	halt                // suspend the worker inside a transaction that has passed the check, for longer than the TTL
	kill                // kill the worker between read and write
	orphan              // as evict, but when the next holder has written, and before the worker continues, kill its "rowlock run" and not the child
	faultKinds
)

// deck lists the faults that a supervisor causes, in random order and repeatedly.
// More frequent faults are listed several times.
var deck = []fault{stop, stop, stop, evict, evict, evict, halt, kill}

// mixedDeck is the deck for a mixed fleet. Only such a fleet has children of "rowlock run".
var mixedDeck = append([]fault{orphan, orphan}, deck...)

// supervisor causes faults in the workers of one chain, one at a time.
type supervisor struct {
	*fleet
	id    int
	locks driver.Operator
	cards []fault
}

// faults counts the faults that took effect, by kind.
type faults [faultKinds]int

func (n faults) String() string {
	return fmt.Sprintf("%d faults: %d stopped between read and write, %d evicted there, %d stopped inside the transaction, %d killed, %d orphaned",
		n[stop]+n[evict]+n[halt]+n[kill]+n[orphan], n[stop], n[evict], n[halt], n[kill], n[orphan])
}

// disturb runs a supervisor for each chain until the function enough returns true.
func disturb(f *fleet, locks driver.Operator, enough func() bool) {
	f.t.Helper()
	ended := make(chan struct{})
	results := make(chan error, names)
	for id := range names {
		s := &supervisor{fleet: f, id: id, locks: locks, cards: f.firstCards(id)}
		go func() { results <- s.disturbUntil(ended) }()
	}
	for look := time.NewTicker(100 * time.Millisecond); !enough() && len(results) == 0; <-look.C {
	}
	close(ended)
	for range names {
		assert.NoError(f.t, <-results)
	}
}

// firstCards returns the faults with which the supervisor of a chain begins. Together the supervisors have one fault of
// each kind, so that a short run has all kinds.
func (f *fleet) firstCards(id int) (cards []fault) {
	all := []fault{evict, stop, halt, kill}
	if f.job.Mixed {
		all = append([]fault{orphan}, all...)
	}
	for i, kind := range all {
		if i%names == id {
			cards = append(cards, kind)
		}
	}
	return cards
}

func (s *supervisor) disturbUntil(ended <-chan struct{}) error {
	for {
		select {
		case <-ended:
			return nil
		default:
			if err := s.next(); err != nil {
				return err
			}
		}
	}
}

// next causes one fault. If no worker reaches the critical point in time, next causes no fault. An error means that the
// test itself failed, not a worker.
func (s *supervisor) next() error {
	if len(s.cards) == 0 {
		cards := deck
		if s.job.Mixed {
			cards = mixedDeck
		}
		for _, i := range rand.Perm(len(cards)) {
			s.cards = append(s.cards, cards[i])
		}
	}
	kind := s.cards[0]
	at := ready
	if kind == halt {
		at = inside
	}
	i, ok := s.victim(at, kind == orphan)
	if !ok {
		return nil
	}
	hit, err := s.inflict(kind, i, at)
	if hit {
		s.cards = s.cards[1:]
		s.mu.Lock()
		s.faults[kind]++
		s.mu.Unlock()
	}
	return err
}

// victim returns the index of a worker whose newest event is of the given kind. The parameter child asks for a child of
// "rowlock run".
func (s *supervisor) victim(kind string, child bool) (i int, ok bool) {
	ok = s.await(2*ttl, func() bool {
		for _, i = range rand.Perm(len(s.running)) {
			if i%names == s.id && s.running[i].newest().What == kind && (!child || s.running[i].kind().child) {
				return true
			}
		}
		return false
	})
	return i, ok
}

// inflict causes the fault in worker i, and reports whether it took effect. The fault does not take effect if the
// worker passed the critical point before inflict suspended it.
func (s *supervisor) inflict(kind fault, i int, at string) (hit bool, err error) {
	p, _ := s.at(i)
	if kind == kill {
		if err := p.kill(); err != nil {
			return false, err
		}
		return true, s.start(i)
	}
	if err := p.suspend(); err != nil {
		return false, err
	}
	if !s.await(20*time.Millisecond, func() bool { return p.newest().What != at }) { // the worker is still at the critical point
		switch kind {
		case evict:
			hit = s.evict(i)
		case orphan:
			return s.orphan(i)
		default:
			time.Sleep(ttl + rand.N(ttl/2)) // the suspension is longer than the TTL
			hit = true
		}
	}
	return hit, p.resume()
}

// evict force-releases the lock of worker i, which is suspended and does not notice.
// It waits until another worker has acquired the lock, and reports whether that happened.
// It waits at most half a TTL, so that worker i still trusts its lease when it continues.
func (s *supervisor) evict(i int) bool {
	_, told := s.at(i)
	ctx, cancel := context.WithTimeout(s.t.Context(), ttl/2)
	defer cancel()
	if s.locks.ForceRelease(ctx, driver.Key{Name: chainName(s.id)}, told.Token, true) != nil {
		return false
	}
	return s.await(ttl/2, func() bool { return s.superseded(told.Token) })
}

// superseded reports whether a worker of this chain has a newer token. The caller holds mu.
func (s *supervisor) superseded(token rowlock.Token) bool {
	for other, p := range s.running {
		if other%names == s.id && p.newest().Token > token {
			return true
		}
	}
	return false
}

// overwritten reports whether a worker of this chain has written with a newer token. The caller holds mu.
func (s *supervisor) overwritten(token rowlock.Token) bool {
	for other, p := range s.running {
		if other%names == s.id && slices.ContainsFunc(p.log, func(e event) bool { return e.What == wrote && e.Token > token }) {
			return true
		}
	}
	return false
}

// isLast reports whether the event last is still the newest one of worker i, which is suspended. On a loaded machine its
// last lines may be read late, and then it had passed the critical point before it was suspended.
func (s *supervisor) isLast(i int, last event) bool {
	_, newest := s.at(i)
	return newest == last
}

// orphan does the same as evict, and then kills the "rowlock run" of worker i. So the child continues without its parent,
// before its own deadline. With the fence, it must not write.
func (s *supervisor) orphan(i int) (hit bool, err error) {
	p, told := s.at(i)
	hit = s.evict(i) && s.await(ttl/4, func() bool { return s.overwritten(told.Token) }) && s.isLast(i, told)
	resumed := now() // before the kill: the kernel resumes a suspended process whose group has become an orphan
	hit = hit && p.killParent()
	if err := p.resume(); err != nil || !hit || !programs[p.Program].fenced {
		return hit, err
	}
	var next event
	s.await(time.Minute, func() bool {
		for _, e := range slices.Backward(p.log) { // the worker may have a new child, whose events have another token
			if e.Token != told.Token || e.At < resumed || e.What == released || e.What == inside {
				continue
			}
			next = e
			return e.What != ready
		}
		return false
	})
	if slices.Contains([]string{wrote, ready, ""}, next.What) { // it has written, or reports nothing further
		return true, fmt.Errorf("worker %d (%s): token %d is stale and its parent is dead, but the child reports %+v", p.Worker, p.kind().name, told.Token, next)
	}
	return true, nil
}
