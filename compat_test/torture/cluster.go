//go:build linux

package main

import (
	"context"
	"time"
)

// cluster is a store of several nodes that has its own kinds of faults.
type cluster interface {
	addrs() []string // host:port of each node to which clients connect
	// hit causes one of the store's own faults. The method returns when the fault has ended and the store is complete again.
	hit(ctx context.Context, s step) error
	stop()
}

// repairLimit limits how long the repair of a store may take.
const repairLimit = time.Minute

// unhurried returns a context for work that must finish even if the run has ended.
func unhurried(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), repairLimit)
}
