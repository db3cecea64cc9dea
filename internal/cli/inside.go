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

// inside ends a wait for a lock that this process runs under, because that wait would have no end.
type inside struct {
	outers []job.Outer
	store  string // its hash
	wait   context.Context
	giveUp context.CancelCauseFunc
}

// inside watches a call that is made with its wait.
func (a *app) inside(ctx context.Context, s *store.Store) *inside {
	wait, giveUp := context.WithCancelCause(ctx)
	return &inside{job.Outers(a.std.Env), s.Hash(), wait, giveUp}
}

// end stops watching.
func (i *inside) end() { i.giveUp(nil) }

// holds is a usage error, and ends the wait, if held tells of a lock that this process runs under.
func (i *inside) holds(held *rowlock.HeldError) error {
	err := job.Itself(i.outers, i.store, held)
	if err != nil {
		i.giveUp(err)
	}
	return err
}

// heldByOther tells a person of a refusal, unless it ends the wait.
func (i *inside) heldByOther(w *terminal.Waiting) func(rowlock.HeldByOtherEvent) {
	return func(e rowlock.HeldByOtherEvent) {
		if i.holds(e.Held) == nil {
			w.Refused(terminal.Plain(e.Held), terminal.HeldAttrs(e.Held))
		}
	}
}

// explains is the usage error of a call that failed with err because of such a lock; else nil.
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
