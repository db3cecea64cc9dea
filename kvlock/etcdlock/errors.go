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
)

// permanent lists the errors that a retry cannot fix.
var permanent = []error{
	rpctypes.ErrPermissionDenied, rpctypes.ErrUserEmpty, rpctypes.ErrAuthFailed, rpctypes.ErrRoleNotGranted,
	rpctypes.ErrInvalidAuthMgmt,
}

// refusedFor lists the errors that prove that the server changed nothing. ErrNoSpace is not in the list, because a
// request with that error may have been executed: see onSession.
var refusedFor = []error{rpctypes.ErrNoLeader, rpctypes.ErrLeaderChanged, rpctypes.ErrTooManyRequests, rpctypes.ErrRequestTooLarge}

// classify marks err as permanent if a retry cannot fix it, and as not applied if the write certainly had no effect.
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

// ofRead marks the error of a read as not applied, because a read changes nothing.
func ofRead(err error) error {
	if err = classify(err); driver.IsNotApplied(err) {
		return err
	}
	return driver.NotApplied(err)
}

func noLease(err error) bool { return errors.Is(err, rpctypes.ErrLeaseNotFound) }

// clientError converts the error of a direct gRPC call into the error that etcd's client would return.
func clientError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return rpctypes.Error(err)
}
