package cli

import (
	"context"
	"log/slog"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/job"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// guarded is the database of the resources that a run seals.
type guarded struct {
	*fence.Guard

	in *store.Store
}

// guard returns the database of the resources in --fence, and a function that closes it. Without --fence the result is
// nil. The parameter s is the open store of the locks.
func (a *app) guard(ctx context.Context, f runFlags, s *store.Store) (*guarded, func(), error) {
	switch {
	case len(f.fence) == 0 && f.data == "":
		return nil, func() {}, nil
	case len(f.fence) == 0:
		if a.std.Env.Get(variable("data")) != "" { // for the checks of the command
			return nil, func() {}, nil
		}
		return nil, nil, exit.Usagef("--data names the database of the resources that --fence seals: add --fence=RESOURCE")
	case f.data == "":
		if _, err := a.dataLocation(""); err != nil {
			return nil, nil, err
		}
		return &guarded{s.Guard(), s}, func() {}, nil
	}
	data, err := a.openData(ctx, f.data)
	if err != nil {
		return nil, nil, err
	}
	return &guarded{data.Guard(), data}, data.Close, nil
}

// seal makes the lease the newest holder of the resources in --fence. The tokens of Redlock are not reliable, so the
// database of the resources then generates a token. An error has the exit code Unavailable.
func (f *runFlags) seal(ctx context.Context, guard *guarded, lease *rowlock.Lease) error {
	if guard == nil {
		return nil
	}
	seal := guard.Seal
	if lease.Backend() == "redlock" {
		seal = guard.Claim
	}
	if err := seal(ctx, lease, f.fence...); err != nil {
		return guard.in.Explain(exit.Failf(exit.Unavailable, "the command was not started: %w", err))
	}
	return nil
}

// children opens the socket for the processes that inherit the lease. If that fails, only a run with --fence fails. Any
// other run starts its command without ROWLOCK_LEASE.
func (a *app) children(f runFlags, lease *rowlock.Lease) (*job.Children, error) {
	children, err := job.ServeChildren(lease)
	if err == nil {
		return children, nil
	}
	if len(f.fence) > 0 {
		return nil, exit.Failf(exit.Internal, "the command was not started: %w", err)
	}
	a.log.Say(terminal.Warn, "no socket", "the command gets no ROWLOCK_LEASE: "+terminal.Plain(err), slog.String("name", lease.Name()))
	return nil, nil
}
