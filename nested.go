package rowlock

import (
	"context"
	"reflect"

	"github.com/rowlock/rowlock/driver"
)

// nesting is the key by which a context is asked for a lease that is held and that an acquire of key would wait for.
type nesting struct {
	locker *Locker
	key    driver.Key
}

// in says whether le is such a lease.
func (n nesting) in(le *Lease) bool {
	return le.grant.Key == n.key && le.locker.hasStoreOf(n.locker) && le.Err() == nil
}

// check fails if ctx carries such a lease. It ends when the work ends that waits for it, so the wait would have no end.
func (n nesting) check(ctx context.Context) error {
	if n.locker.caps.Shares {
		return nil
	}
	if le, ok := ctx.Value(n).(*Lease); ok {
		return &nestedError{n.key, le.Token()}
	}
	return nil
}

// hasStoreOf says whether both lockers have one backend.
func (l *Locker) hasStoreOf(other *Locker) bool {
	return l == other ||
		reflect.ValueOf(l.backend).Comparable() && reflect.ValueOf(other.backend).Comparable() && l.backend == other.backend
}
