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

// ErrNotPaused: the name is not paused, or its pause has another token. The error is also an [ErrNotHeld].
var ErrNotPaused = fmt.Errorf("%w: not paused", ErrNotHeld)

// Pause makes name unavailable until [Locker.Resume]. Callers that fail to acquire name meanwhile get an [ErrHeld].
// It says who has paused the name (the option [Holder]), since when, and why. The reason is the note of the pause,
// of 1 to 1,024 bytes. A pause is no lease: it outlives this Locker, this process and its host.
// It lasts for as long as the store keeps its data. The options MinHold, MaxHold, HandoverDelay and Shared have no effect.
//
// Pause waits for the current holder as [Locker.Acquire] does, and does not end the holder's lease.
// With a [Wait] of zero it does not wait. ctx and Wait limit the wait. The returned token is for Resume.
// Like the token of any grant, it is larger than every earlier token of the name.
//
// Pause returns the errors of Acquire, and an [ErrHeld] if the name is already paused. It returns an [ErrUnknown] if
// it acquired the name and got no reply to the request that pauses the name. Then the name is paused,
// or becomes free soon. If the [driver.Capabilities] say that the backend cannot pause, it returns an
// [errors.ErrUnsupported].
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
	lease, err := l.Acquire(ctx, name, append(slices.Clone(opts), Note(reason), MinHold(0), MaxHold(0), HandoverDelay(0), exclusive)...)
	if err != nil {
		return 0, err
	}
	p := pausing{lease: lease, as: driver.NewNonce()}
	err = lease.ReleaseWith(context.WithoutCancel(ctx), p.pause)
	if p.done {
		return lease.Token(), nil
	}
	released := lease.Release(ctx) // this release succeeds only if the lease did not become a pause
	switch {
	case errors.Is(released, ErrLost) && !p.doubt:
		return 0, released
	case released == nil:
		return 0, &opError{"pause", lease.grant.Key, ErrUnavailable, err}
	default:
		return 0, &opError{"pause", lease.grant.Key, ErrUnknown, err}
	}
}

func exclusive(s *settings) { s.shared = false }

// pausing holds the state of Pause while it turns a lease into a pause.
type pausing struct {
	lease *Lease
	as    driver.Nonce
	done  bool
	doubt bool // true if the store may have paused the name, but a reply is missing
}

// pause requests the pause, and retries until the store has replied. A repeated request changes nothing.
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
	return p.lease.locker.backend.(driver.Operator).Pause(ctx, p.lease.grant, p.as) //nolint:forcetypeassert // Locker.pauses has checked it
}

// Resume ends the pause of name. The parameter token is the token of the pause, or zero for any pause. Of the options
// only [Namespace] matters. ctx limits the call, which takes ten seconds at most.
//
// Resume returns an [ErrNotPaused] if the name is free or held, but not paused. The error is the same if the name was
// paused again, so that its pause has another token. Resume returns an [ErrUnavailable] if the store could not be
// reached. If no reply came, the pause may have ended, and the error is an [ErrUnknown].
func (l *Locker) Resume(ctx context.Context, name string, token Token, opts ...Option) error {
	if _, err := l.pauses(); err != nil {
		return err
	}
	key, err := l.keyOf(name, opts)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, operatorLimit)
	defer cancel()
	var now Status
	err = l.read(ctx, "resume", key, func(ctx context.Context, o driver.Operator) (err error) {
		now, err = o.Inspect(ctx, key)
		return err
	})
	switch {
	case err != nil:
		return err
	case now.State != driver.StatePaused || token != 0 && token != now.Token:
		return fmt.Errorf("rowlock: resume %s: %w", excerpt(key.String()), ErrNotPaused)
	}
	// Only this pause has this token. So ForceRelease with this token ends the pause, or finds that it has already
	// ended.
	err = l.operate(ctx, "resume", key, func(ctx context.Context, o driver.Operator) error {
		return o.ForceRelease(ctx, key, now.Token, true)
	})
	if errors.Is(err, ErrNotHeld) {
		return fmt.Errorf("rowlock: resume %s: %w", excerpt(key.String()), ErrNotPaused)
	}
	return err
}

// pauses returns the backend as an Operator, or an error if it cannot pause.
func (l *Locker) pauses() (driver.Operator, error) {
	operator, ok := l.backend.(driver.Operator)
	if !ok || !l.caps.Pauses {
		return nil, fmt.Errorf("rowlock: backend %s cannot pause a name: it cannot reliably keep a pause that outlives a connection: %w", l.caps.Backend, errors.ErrUnsupported)
	}
	return operator, nil
}
