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
	errEntryLost = errors.New("etcdlock: the place in the queue is gone")
	errSilent    = errors.New("etcdlock: nothing was heard from etcd for the TTL")
	errBusy      = errors.New("etcdlock: another call for this acquisition is under way")
)

// hopeless are the answers that no repetition mends.
var hopeless = []error{
	rpctypes.ErrPermissionDenied, rpctypes.ErrUserEmpty, rpctypes.ErrAuthFailed, rpctypes.ErrRoleNotGranted,
	rpctypes.ErrInvalidAuthMgmt,
}

// refusedFor are the answers of a server that did nothing. ErrNoSpace is not: see undo.
var refusedFor = []error{rpctypes.ErrNoLeader, rpctypes.ErrLeaderChanged, rpctypes.ErrTooManyRequests, rpctypes.ErrRequestTooLarge}

// classify marks the errors of a write that certainly had no effect.
func classify(err error) error {
	for _, h := range hopeless {
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

// clientError is err as the client of etcd reports errors.
func clientError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return rpctypes.Error(err)
}
