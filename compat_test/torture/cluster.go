//go:build linux

package main

import (
	"context"
	"time"
)

// cluster is a store of several nodes that breaks in ways of its own.
type cluster interface {
	addrs() []string // host:port of each node that clients know
	// hit does one of the store's own faults, and returns when it is over and the store is whole again.
	hit(ctx context.Context, s step) error
	stop()
}

// repairLimit bounds what makes a store whole again.
const repairLimit = time.Minute

// unhurried is for what must be done although the run is over.
func unhurried(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), repairLimit)
}
