package rowlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Status is the state of one name, as the store sees it.
type Status = driver.Status

// operatorLimit is the time limit of a call for operators, even if its ctx has a later deadline.
const operatorLimit = 10 * time.Second

// Status returns the state of name: whether it is free, held, expired, closed or paused, who holds it or held it last,
// and since when. Closed means that nobody holds it, but a [MinHold] or [HandoverDelay] is not over. A name that the
// store has never seen, or has pruned, is free and has token zero. The state may have changed when the call returns.
//
// Of the options only [Namespace] matters. ctx limits the call, which takes ten seconds at most.
// If the store did not answer, the error is an [ErrUnavailable]. If the backend does not implement [driver.Operator],
// the error is an [errors.ErrUnsupported].
func (l *Locker) Status(ctx context.Context, name string, opts ...Option) (Status, error) {
	key, err := l.keyOf(name, opts)
	if err != nil {
		return Status{}, err
	}
	var status Status
	err = l.read(ctx, "status of", key, func(ctx context.Context, o driver.Operator) (err error) {
		status, err = o.Inspect(ctx, key)
		return err
	})
	return status, err
}

// List returns the state of every name in the namespace that the store remembers, ordered by name. Options,
// time limits and errors are those of [Locker.Status].
func (l *Locker) List(ctx context.Context, opts ...Option) ([]Status, error) {
	cfg, err := l.configure(opts)
	if err != nil {
		return nil, err
	}
	var list []Status
	err = l.read(ctx, "list", driver.Key{Namespace: cfg.namespace}, func(ctx context.Context, o driver.Operator) (err error) {
		list, err = o.List(ctx, cfg.namespace, false)
		return err
	})
	return list, err
}

// ForceRelease makes name free: it ends the lease or pause that has this token, even if another process holds it.
// Operators use it when they know that the holder must stop. The holder notices at its next renewal, and may work until
// then. Only a fence rejects what the holder writes in that time, and only after the next holder has sealed with its
// larger token.
//
// Options and time limits are those of [Locker.Status]. The error is an [ErrNotHeld] if nobody holds name with that
// token. It is an [ErrUnavailable] if the request had no effect, and an [ErrUnknown] if no answer came.
func (l *Locker) ForceRelease(ctx context.Context, name string, token Token, opts ...Option) error {
	key, err := l.keyOf(name, opts)
	if err != nil {
		return err
	}
	return l.operate(ctx, "force release of", key, func(ctx context.Context, o driver.Operator) error {
		return o.ForceRelease(ctx, key, token, true)
	})
}

// Prune deletes the store's record of each name, of any namespace, that has been free for at least unused. It returns
// the number of deleted records. If a deleted name is granted again later, its token is larger than every earlier token
// of the name. The parameter unused must not be negative. Time limits and errors are those of [Locker.ForceRelease],
// except ErrNotHeld.
func (l *Locker) Prune(ctx context.Context, unused time.Duration) (int, error) {
	if unused < 0 {
		return 0, fmt.Errorf("rowlock: Prune(%s): must not be negative", unused)
	}
	var pruned int
	err := l.operate(ctx, "prune", driver.Key{}, func(ctx context.Context, o driver.Operator) (err error) {
		pruned, err = o.Prune(ctx, unused)
		return err
	})
	return pruned, err
}

// keyOf returns the key of name in the namespace that opts set.
func (l *Locker) keyOf(name string, opts []Option) (driver.Key, error) {
	cfg, err := l.configure(opts)
	if err != nil {
		return driver.Key{}, err
	}
	return newKey(cfg.namespace, name)
}

// read does the same as operate for a call that changes nothing. Therefore it reports every failure as an
// [ErrUnavailable], and never as an [ErrUnknown].
func (l *Locker) read(ctx context.Context, op string, key driver.Key, call func(context.Context, driver.Operator) error) error {
	return l.operate(ctx, op, key, func(ctx context.Context, o driver.Operator) error {
		err := call(ctx, o)
		if err != nil && !driver.IsNotApplied(err) {
			err = driver.NotApplied(err)
		}
		return err
	})
}

// operate makes one call to the backend's [driver.Operator]. It turns an error into an [ErrNotHeld],
// [ErrUnavailable] or [ErrUnknown].
func (l *Locker) operate(ctx context.Context, op string, key driver.Key, call func(context.Context, driver.Operator) error) error {
	operator, ok := l.backend.(driver.Operator)
	if !ok {
		return fmt.Errorf("rowlock: backend %s cannot list, inspect, prune or force-release locks: %w", l.caps.Backend, errors.ErrUnsupported)
	}
	ctx, cancel := context.WithTimeout(ctx, operatorLimit)
	defer cancel()
	err := call(ctx, operator)
	kind := ErrUnknown
	switch {
	case err == nil:
		return nil
	case errors.Is(err, driver.ErrNotHeld):
		return fmt.Errorf("rowlock: %s %s: %w", op, excerpt(key.String()), ErrNotHeld)
	case driver.IsNotApplied(err):
		kind = ErrUnavailable
	}
	return &opError{op, key, kind, err}
}
