//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// The dense mode adds loops to each worker. These loops hold hundreds of names for about a millisecond each, so a run makes ten
// times as many acquisitions under the same faults. Each of these names has a chain behind the fence.
const (
	denseNames = 300
	denseLoops = 10      // the number of loops in each worker
	crowded    = 10      // the number of names that get half of the requests
	denseName  = "dense" // names are dense-000 and so on; as the target of a fault, dense means any of these names
)

// tempo determines how long a loop holds a lock.
type tempo struct {
	hold   time.Duration // the longest usual hold; a few holds are longer
	seldom int           // the larger this number, the fewer holds are longer: it divides their probability
}

// dense acquires one of many names. Every other request goes through all names in order, so each name is granted repeatedly. One
// hold in ten appends to the chain of its name.
func (w *worker) dense(ctx context.Context, r *rand.Rand) {
	n := r.IntN(crowded)
	if turn := w.walked.Add(1); turn%2 == 0 {
		n = (int(turn/2) + w.Worker*denseNames/4) % denseNames
	}
	name, brief := fmt.Sprintf("%s-%03d", denseName, n), tempo{2 * time.Millisecond, 25}
	if r.IntN(10) == 0 {
		w.chain(ctx, r, name, brief, w.sealer, true, name)
		return
	}
	w.churn(ctx, r, name, brief)
}

// lockNames returns the names of all locks that the workers acquire.
func (o settings) lockNames() []string {
	all := slices.Concat([]string{"chain-0", "chain-1", pairName, controlName, relayName, "churn-0", "churn-1", "churn-2"}, togetherNames, slotNames)
	if o.ticks {
		all = append(all, onceName)
	}
	if o.shares {
		all = append(all, history.Board)
	}
	for n := range o.denseNames() {
		all = append(all, fmt.Sprintf("%s-%03d", denseName, n))
	}
	return all
}

func (o settings) denseNames() int {
	if o.dense {
		return denseNames
	}
	return 0
}

// isOf reports whether the parameter lock is the target of a fault. If the target is dense, any lock of the dense mode matches.
func isOf(lock, target string) bool {
	return lock == target || target == denseName && strings.HasPrefix(lock, denseName)
}
