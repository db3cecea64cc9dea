//go:build unix

package processes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/driver"
)

// fault is what is done to a worker at a point where it hurts.
type fault int

const (
	stop  fault = iota // between read and write, beyond the TTL
	evict              // between read and write; the victim still trusts when its successor has sealed
	halt               // within a transaction that was checked, beyond the TTL
	kill               // between read and write
	faultKinds
)

// deck is what a supervisor does, in any order, before it begins anew.
var deck = []fault{stop, stop, stop, evict, evict, evict, halt, kill}

// supervisor disturbs the workers of one chain, one at a time.
type supervisor struct {
	*fleet
	id    int
	locks driver.Operator
	cards []fault
	done  faults
}

// faults counts the faults that hit.
type faults [faultKinds]int

func (n faults) String() string {
	return fmt.Sprintf("%d faults: %d stopped between read and write, %d evicted there, %d stopped inside the transaction, %d killed",
		n[stop]+n[evict]+n[halt]+n[kill], n[stop], n[evict], n[halt], n[kill])
}

// disturb lets a supervisor disturb each chain until it is enough.
func disturb(f *fleet, locks driver.Operator, enough func() bool) (done faults) {
	f.t.Helper()
	ended := make(chan struct{})
	results := make(chan error, names)
	supervisors := make([]*supervisor, names)
	for id := range names {
		s := &supervisor{fleet: f, id: id, locks: locks}
		supervisors[id] = s
		go func() { results <- s.disturbUntil(ended) }()
	}
	for look := time.NewTicker(100 * time.Millisecond); !enough() && len(results) == 0; <-look.C {
	}
	close(ended)
	for range names {
		assert.NoError(f.t, <-results)
	}
	for _, s := range supervisors {
		for kind, n := range s.done {
			done[kind] += n
		}
	}
	return done
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

// next does one fault, or none if no worker comes to where it hurts. An error is the fault of the
// test, not of a worker.
func (s *supervisor) next() error {
	if len(s.cards) == 0 {
		for _, i := range rand.Perm(len(deck)) {
			s.cards = append(s.cards, deck[i])
		}
	}
	kind := s.cards[0]
	at := ready
	if kind == halt {
		at = inside
	}
	i, ok := s.victim(at)
	if !ok {
		return nil
	}
	hit, err := s.inflict(kind, i, at)
	if hit {
		s.cards = s.cards[1:]
		s.done[kind]++
	}
	return err
}

// victim is a worker that has just told that it is at some point.
func (s *supervisor) victim(at string) (i int, ok bool) {
	ok = s.await(2*ttl, func() bool {
		for _, i = range rand.Perm(workers) {
			if i%names == s.id && s.running[i].told().What == at {
				return true
			}
		}
		return false
	})
	return i, ok
}

// inflict does the fault, unless the worker had gone on before it stopped.
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
	if !s.await(20*time.Millisecond, func() bool { return p.told().What != at }) { // nothing was told before it stopped
		if kind == evict {
			hit = s.evict(i)
		} else {
			time.Sleep(ttl + rand.N(ttl/2)) // the fault itself: a pause beyond the TTL
			hit = true
		}
	}
	return hit, p.resume()
}

// evict ends the lease of a stopped worker, who does not hear of it, and waits until another one has
// sealed; not for so long that the victim must have lost its trust.
func (s *supervisor) evict(i int) bool {
	_, told := s.at(i)
	ctx, cancel := context.WithTimeout(s.t.Context(), ttl/2)
	defer cancel()
	if s.locks.ForceRelease(ctx, driver.Key{Name: chainName(s.id)}, told.Token, true) != nil {
		return false
	}
	return s.await(ttl/2, func() bool {
		for other, p := range s.running {
			if other%names == s.id && p.told().Token > told.Token {
				return true
			}
		}
		return false
	})
}
