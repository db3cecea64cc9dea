package etcdlock

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/rowlock/rowlock/driver"
)

var (
	errLeaseLost = errors.New("etcdlock: the session's lease has ended")
	errForced    = errors.New("etcdlock: an operator forced the release")
	errEntryLost = errors.New("etcdlock: the waiter's key in the queue was deleted")
	errSilent    = errors.New("etcdlock: etcd has not answered for one TTL")
	errBusy      = errors.New("etcdlock: another call for this acquisition is running")
)

// permanent are the errors that a retry cannot fix.
var permanent = []error{
	rpctypes.ErrPermissionDenied, rpctypes.ErrUserEmpty, rpctypes.ErrAuthFailed, rpctypes.ErrRoleNotGranted,
	rpctypes.ErrInvalidAuthMgmt,
}

// refusedFor are the errors of a server that changed nothing. ErrNoSpace does not prove that: see undo.
var refusedFor = []error{rpctypes.ErrNoLeader, rpctypes.ErrLeaderChanged, rpctypes.ErrTooManyRequests, rpctypes.ErrRequestTooLarge}

// classify marks the errors of a write that certainly had no effect.
func classify(err error) error {
	for _, h := range permanent {
		if errors.Is(err, h) {
			return driver.Permanent(err)
		}
	}
	for _, r := range refusedFor {
		if errors.Is(err, r) {
			return driver.NotApplied(err)
		}
	}
	return err
}

// ofRead marks the error of a call that changes nothing.
func ofRead(err error) error {
	if err = classify(err); driver.IsNotApplied(err) {
		return err
	}
	return driver.NotApplied(err)
}

func noLease(err error) bool { return errors.Is(err, rpctypes.ErrLeaseNotFound) }

// clientError converts err as etcd's client does.
func clientError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return rpctypes.Error(err)
}
