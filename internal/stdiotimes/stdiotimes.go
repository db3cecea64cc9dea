// Package stdiotimes has the times of the cases of package locktest/stdio. Tests of a program can shorten them.
package stdiotimes

import (
	"context"
	"time"
)

// Times are the times of the cases of one run.
type Times struct {
	Patience time.Duration // how long a case waits for one event that must happen
	KeptTTL  time.Duration // the TTL of a lease that only renewals keep; a slow machine may be silent for half of it
	// GivenUpTTL is the TTL of a lease whose reply is lost. The lease must not expire before the case ends. A program may
	// derive its time limit of a request from the TTL.
	GivenUpTTL time.Duration
}

var usual = Times{Patience: 20 * time.Second, KeptTTL: 12 * time.Second, GivenUpTTL: 10 * time.Minute}

type key struct{}

// With returns a context in which the cases use the times t.
func With(ctx context.Context, t Times) context.Context { return context.WithValue(ctx, key{}, t) }

// Of returns the times that ctx carries, or the usual times.
func Of(ctx context.Context) Times {
	if t, ok := ctx.Value(key{}).(Times); ok {
		return t
	}
	return usual
}
