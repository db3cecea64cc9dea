package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
)

const dataUsage = "the SQL database of the data, if it is not that of the locks, in the form of --store ($ROWLOCK_DATA)"

// dataLocation returns the location of the database that has the marks of the resources. The parameter data is the
// value of --data. If it is empty, the store of the locks has the marks.
func (a *app) dataLocation(data string) (store.Location, error) {
	if data == "" {
		at, err := a.location()
		if err == nil {
			err = at.RefuseKeyValue("the fence needs the SQL database of the data, and %s has none: name that database with --data")
		}
		return at, err
	}
	at, err := store.Locate(data, a.std.Env)
	if err == nil {
		err = at.RefuseKeyValue("the fence needs the SQL database of the data, and %s has none")
	}
	if err != nil {
		return at, exit.Failf(exit.Code(err), "--data: %s", strings.TrimPrefix(err.Error(), "--store: "))
	}
	return at, nil
}

// openData opens the database that has the marks of the resources. See dataLocation.
func (a *app) openData(ctx context.Context, data string) (*store.Store, error) {
	if _, err := a.dataLocation(data); err != nil {
		return nil, err
	}
	of := *a
	if data != "" {
		of.store = data
	}
	return of.openStore(ctx)
}

// checkResources checks that the names of resources are valid. The parameter what is the name of the option or argument.
func checkResources(what string, names []string) error {
	for _, name := range names {
		if name == "" {
			return exit.Usagef("%s: the name of a resource is empty", what)
		}
		if err := checkName(what, name, driver.MaxName); err != nil {
			return err
		}
	}
	return nil
}

// resourceArgs checks that the arguments of a subcommand are names of resources.
func (a *app) resourceArgs(cmd *cobra.Command, args []string) error {
	a.hint = cmd.CommandPath() + " --help"
	return checkResources("RESOURCE", args)
}

// inherited returns the lease of the "rowlock run" that started this process. Its error has an exit code.
func (a *app) inherited(ctx context.Context) (context.Context, *rowlock.Lease, error) {
	ctx, lease, err := rowlock.FromEnvironment(ctx)
	switch {
	case err == nil:
		return ctx, lease, nil
	case errors.Is(err, rowlock.ErrLost):
		return nil, nil, exit.With(exit.Lost, err)
	case errors.Is(err, rowlock.ErrUnavailable):
		return nil, nil, exit.With(exit.Unavailable, err)
	default:
		return nil, nil, exit.With(exit.Usage, err)
	}
}

// ofCheck adds the exit code to an error of a check. The library's advice for a lease that never sealed the resource is
// for Go programs, so ofCheck replaces it.
func ofCheck(err error) error {
	var stale *fence.StaleError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &stale) && (stale.Newest < stale.Token || stale.Newest == 0):
		return exit.Failf(exit.Lost, "fence: stale: %q was never sealed by this run: name it in the option --fence of rowlock run; or the mark was reset or pruned since", stale.Resource)
	case errors.Is(err, fence.ErrStale), errors.Is(err, rowlock.ErrLost):
		return exit.With(exit.Lost, err)
	default:
		return exit.With(exit.Unavailable, err)
	}
}
