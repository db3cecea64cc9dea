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

// The dense mode adds loops to each worker. The dense loops use hundreds of names, and hold each for about a
// millisecond. So a run makes ten times as many acquisitions under the same faults. Each of these names has a chain
// behind the fence.
const (
	denseNames = 300
	denseLoops = 10 // the number of loops in each worker
	crowded    = 10 // the number of names that get half of the requests
	// The names of the locks are dense-000, dense-001 and so on. A fault whose target is dense may hit the holder of
	// any of them.
	denseName = "dense"
)

// tempo determines how long a loop holds a lock.
type tempo struct {
	hold   time.Duration // the longest usual hold; a few holds are longer
	seldom int           // a divisor of the probability of a long hold: 2 makes long holds half as frequent
}

// dense acquires one of many names. Every other request goes through all names in order, so each name is granted
// repeatedly. In one of ten cases, the loop appends to the chain of the name while it holds the name.
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
