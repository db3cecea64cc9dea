package cli

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/job"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// inside ends a wait for a lock under which this process already runs, because such a wait would never end by itself.
type inside struct {
	outers []job.Outer
	store  string // the hash that identifies the store
	wait   context.Context
	giveUp context.CancelCauseFunc
}

// The method inside returns the value of type inside for one wait with the context ctx.
func (a *app) inside(ctx context.Context, s *store.Store) *inside {
	wait, giveUp := context.WithCancelCause(ctx)
	return &inside{job.Outers(a.std.Env), s.Hash(), wait, giveUp}
}

// end releases the resources of i after the wait.
func (i *inside) end() { i.giveUp(nil) }

// holds checks whether the parameter held describes a lock under which this process runs. If it does, holds ends the
// wait and returns a usage error. Otherwise it returns nil.
func (i *inside) holds(held *rowlock.HeldError) error {
	err := job.Itself(i.outers, i.store, held)
	if err != nil {
		i.giveUp(err)
	}
	return err
}

// heldByOther returns a function for a trace. For each refused attempt the function calls the method holds. If holds
// does not end the wait, the function shows the lock's holder on the display w.
func (i *inside) heldByOther(w *terminal.Waiting) func(rowlock.HeldByOtherEvent) {
	return func(e rowlock.HeldByOtherEvent) {
		if i.holds(e.Held) == nil {
			w.Refused(terminal.Plain(e.Held), terminal.HeldAttrs(e.Held))
		}
	}
}

// explains returns a usage error if err means that this process would wait for a lock under which it runs.
// Otherwise it returns nil.
func (i *inside) explains(err error) error {
	var held *rowlock.HeldError
	if errors.As(err, &held) {
		_ = i.holds(held)
	}
	if cause := context.Cause(i.wait); exit.Code(cause) == exit.Usage {
		return cause
	}
	return nil
}
