package zklock

import (
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

var (
	errExpired     = errors.New("zklock: the servers have ended the session")
	errUnproven    = errors.New("zklock: no request proved in time that the session lives")
	errClosed      = errors.New("zklock: the backend is closed")
	errIdle        = errors.New("zklock: the session was not used")
	errUnreachable = errors.New("zklock: no connection to any of the servers")
	errPlaceLost   = errors.New("zklock: the waiter's node in the queue was deleted")
	errRejoin      = errors.New("zklock: the share waits only for earlier readers, and can join them")
	errNotCreated  = errors.New("zklock: the request was not carried out")
	errUnrecorded  = errors.New("zklock: the servers did not answer whether the release recorded the tick")
	errSilent      = errors.New("zklock: the servers have not answered for one TTL")
)

// refusedFor lists the errors of a request that had no effect and that a retry cannot fix.
var refusedFor = []error{zk.ErrNoAuth, zk.ErrAuthFailed, zk.ErrInvalidACL}

// withoutEffect lists the errors of a request that had no effect, because it was refused or never sent.
var withoutEffect = []error{
	zk.ErrNoNode, zk.ErrBadVersion, zk.ErrNodeExists, zk.ErrSessionExpired, zk.ErrSessionMoved, zk.ErrNoServer,
}

func isAny(err error, list []error) bool {
	return slices.ContainsFunc(list, func(e error) bool { return errors.Is(err, e) })
}

// ambiguous reports whether the servers may have executed a request that failed with err.
func ambiguous(err error) bool {
	return err != nil && !isAny(err, refusedFor) && !isAny(err, withoutEffect)
}

// classify marks err as permanent if a retry cannot fix it, and as not applied if the request certainly had no effect.
func classify(err error) error {
	switch {
	case err == nil || driver.IsNotApplied(err):
		return err
	case isAny(err, refusedFor):
		return driver.Permanent(err)
	case errors.Is(err, zk.ErrSessionExpired):
		return driver.NotApplied(errExpired)
	case isAny(err, withoutEffect):
		return driver.NotApplied(err)
	}
	return err
}

// ofRead marks the error of a read as not applied, because a read changes nothing.
func ofRead(err error) error {
	if err = classify(err); err == nil || driver.IsNotApplied(err) {
		return err
	}
	return driver.NotApplied(err)
}
