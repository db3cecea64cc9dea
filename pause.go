package rowlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
)

// ErrNotPaused: nobody has paused the name, or not with that token. It is an [ErrNotHeld], too.
var ErrNotPaused = fmt.Errorf("%w: not paused", ErrNotHeld)

// Pause closes the name until [Locker.Resume] opens it: nobody is granted it, and whoever asks is told who
// has paused it (the option [Holder]), since when, and the reason, which is the note of the pause: 1 to 1,024
// bytes. A pause is no lease: it outlives this Locker, this process and its host, for as long as the store
// remembers. The options MinHold, MaxHold and HandoverDelay are without effect.
//
// It waits as [Locker.Acquire] does until whoever holds the name has released it, and takes no lease away;
// with [Wait] of zero it does not wait. ctx and Wait bound the waiting. The token is that of the pause, for
// Resume; like that of any grant, it is larger than all before it.
//
// The errors are those of Acquire, an [ErrHeld] also if the name is paused already, and an [ErrUnknown] when
// the name was had and no answer came to the request that pauses it: then it is paused, or free soon. A
// backend whose [driver.Capabilities] say that it cannot pause is an [errors.ErrUnsupported].
func (l *Locker) Pause(ctx context.Context, name, reason string, opts ...Option) (Token, error) {
	if _, err := l.pauses(); err != nil {
		return 0, err
	}
	if reason == "" {
		return 0, errors.New("rowlock: the reason of the pause is empty")
	}
	if err := checkText(reason, maxNote); err != nil {
		return 0, fmt.Errorf("rowlock: the reason of the pause, %s: %w", excerpt(reason), err)
	}
	lease, err := l.Acquire(ctx, name, append(slices.Clone(opts), Note(reason), MinHold(0), MaxHold(0), HandoverDelay(0))...)
	if err != nil {
		return 0, err
	}
	p := pausing{lease: lease, as: driver.NewNonce()}
	err = lease.ReleaseWith(context.WithoutCancel(ctx), p.pause)
	if p.done {
		return lease.Token(), nil
	}
	released := lease.Release(ctx) // which finds the lease only if it is no pause
	switch {
	case errors.Is(released, ErrLost) && !p.doubt:
		return 0, released
	case released == nil:
		return 0, &opError{"pause", lease.grant.Key, ErrUnavailable, err}
	default:
		return 0, &opError{"pause", lease.grant.Key, ErrUnknown, err}
	}
}

// pausing is a lease on its way to a pause.
type pausing struct {
	lease *Lease
	as    driver.Nonce
	done  bool
	doubt bool // a request is without its reply
}

// pause asks until the store has answered, which changes nothing when it is repeated.
func (p *pausing) pause(ctx context.Context) error {
	limit := callTimeout(p.lease.grant.TTL)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	retry := backoff.Backoff{Next: 10 * time.Millisecond, Most: 500 * time.Millisecond}
	for {
		err := p.ask(ctx, limit/3)
		p.done = err == nil
		p.doubt = p.doubt || err != nil && !driver.IsNotApplied(err) && !errors.Is(err, driver.ErrNotHeld)
		if p.done || errors.Is(err, driver.ErrNotHeld) || driver.IsPermanent(err) || !backoff.Sleep(ctx, retry.Step()) {
			return err
		}
	}
}

func (p *pausing) ask(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return p.lease.locker.backend.(driver.Operator).Pause(ctx, p.lease.grant, p.as) //nolint:forcetypeassert // Locker.pauses was here
}

// Resume opens a name that [Locker.Pause] has closed. token is the one of the pause; zero is whichever there is.
// Of the options only [Namespace] matters. ctx bounds it; it takes ten seconds at most.
//
// The error is an [ErrNotPaused] if the name is not paused, whoever else holds it, or has been paused again; an
// [ErrUnavailable] when the store could not be asked; and an [ErrUnknown] when no answer came and it may be done.
func (l *Locker) Resume(ctx context.Context, name string, token Token, opts ...Option) error {
	inspector, err := l.pauses()
	if err != nil {
		return err
	}
	cfg, err := l.configure(opts)
	if err != nil {
		return err
	}
	key, err := newKey(cfg.namespace, name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	now, err := inspector.Inspect(ctx, key)
	switch {
	case err != nil:
		return &opError{"resume", key, ErrUnavailable, err}
	case now.State != driver.StatePaused || token != 0 && token != now.Token:
		return fmt.Errorf("rowlock: resume %s: %w", excerpt(key.String()), ErrNotPaused)
	}
	// A token is a pause's until the pause ends, so what was a pause is one, or gone.
	err = inspector.ForceRelease(ctx, key, now.Token, true)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, driver.ErrNotHeld):
		return fmt.Errorf("rowlock: resume %s: %w", excerpt(key.String()), ErrNotPaused)
	case driver.IsNotApplied(err):
		return &opError{"resume", key, ErrUnavailable, err}
	default:
		return &opError{"resume", key, ErrUnknown, err}
	}
}

// pauses returns what a backend that can pause has besides.
func (l *Locker) pauses() (driver.Operator, error) {
	operator, ok := l.backend.(driver.Operator)
	if !ok || !l.caps.Pauses {
		return nil, fmt.Errorf("rowlock: backend %s cannot pause a name: it keeps nothing that outlives a connection, or not for certain: %w", l.caps.Backend, errors.ErrUnsupported)
	}
	return operator, nil
}
