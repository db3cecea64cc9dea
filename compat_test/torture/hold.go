//go:build linux

package main

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// hold is one lease of a worker.
type hold struct {
	*worker
	lease *rowlock.Lease
	try   string
	tick  int64 // the tick of a call of Once
}

func (h *hold) event(kind history.Kind) history.Event {
	return history.Event{Kind: kind, Try: h.try, Tick: h.tick, Name: h.lease.Name(), Token: int64(h.lease.Token()), Nonce: h.lease.Nonce().String(), Shared: h.lease.Shared()}
}

// look checks whether the lease is still held, and logs the answer. The end of trust is read after the answer,
// so a renewal in between makes the end later and never earlier.
func (h *hold) look() bool {
	e := h.event(history.Seen)
	e.Wall, e.At = time.Now().UnixNano(), history.Now()
	before := time.Now()
	err := h.lease.Err()
	expires := h.lease.ExpiresAt()
	if err != nil && !h.mutant.deaf {
		e.Outcome = history.Ended
	} else {
		e.Outcome = history.Trusted
		if err == nil {
			e.Late = max(0, int64(before.Sub(expires)))
		}
	}
	h.log.Write(e)
	return err == nil
}

func (h *hold) release() {
	h.log.Write(h.event(history.Release))
	h.released(h.lease.Release(context.Background()))
}

// released logs the answer to a release.
func (h *hold) released(err error) {
	e := h.event(history.Released)
	switch {
	case err == nil:
		e.Outcome = history.OK
	case errors.Is(err, rowlock.ErrLost):
		e.Outcome = history.LeaseLost
	case errors.Is(err, rowlock.ErrUnknown):
		e.Outcome = history.Unknown
	case errors.Is(err, rowlock.ErrUnavailable):
		e.Outcome = history.Unavailable
	default:
		e.Outcome, e.Detail = history.Failed, err.Error()
	}
	h.log.Write(e)
	h.leases.Delete(h.try)
}
