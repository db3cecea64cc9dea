//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// The dense mode adds loops to each worker. They hold hundreds of names for about a millisecond each, so that a run sees ten times as
// many acquisitions under the same faults. Each of these names is a chain behind the fence.
const (
	denseNames = 300
	denseLoops = 10      // of each worker
	crowded    = 10      // of the names, for which half of the requests compete
	denseName  = "dense" // dense-000 and so on; as the target of a fault, any of them
)

// tempo is how long a loop holds a lock.
type tempo struct {
	hold   time.Duration // at most; longer holds are the exception
	seldom int           // how much rarer the exceptions are
}

// dense acquires one of many names. Every other request walks through all names, so that each of them is granted again and
// again. One hold in ten appends to the chain of its name.
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

// lockNames are all names that the workers take.
func (o settings) lockNames() []string {
	all := []string{"chain-0", "chain-1", pairName, controlName, relayName, "churn-0", "churn-1", "churn-2"}
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

// isOf says whether a lock is the one that a fault is to find, which may be any of the dense ones.
func isOf(lock, target string) bool {
	return lock == target || target == denseName && strings.HasPrefix(lock, denseName)
}
