package sessionlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowlock/rowlock/driver"
)

var (
	// ErrGone is the cause of a session's context if the session ended for an unknown reason or was no longer needed.
	ErrGone = errors.New("the connection has ended")
	// ErrMissing is the cause of a session's context if the server reported that the session does not hold one
	// of its locks.
	ErrMissing = errors.New("the server does not hold a lock that this session acquired")

	errEnding = errors.New("the connection failed during the release; the server releases the lock when it closes the connection")
)

// Ready returns an error if the backend cannot send requests, because its options are invalid or ctx has ended.
func (s *Store[K]) Ready(ctx context.Context) error {
	if s.Err != nil {
		return driver.Permanent(s.Err)
	}
	if err := ctx.Err(); err != nil {
		return driver.NotApplied(err)
	}
	return nil
}

// Explain adds the operation and the key to err, and calls the function Remedy. It returns driver.ErrNotHeld and refusals
// unchanged.
func (s *Store[K]) Explain(ctx context.Context, operation string, key driver.Key, err error) error {
	var held *driver.Held
	if err == nil || errors.Is(err, driver.ErrNotHeld) || errors.As(err, &held) {
		return err
	}
	if key.Name != "" {
		operation = fmt.Sprintf("%s %q", operation, key)
	}
	err = fmt.Errorf("%s: %s: %w", s.Name, operation, err)
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	if driver.IsPermanent(err) {
		return err
	}
	return s.Remedy(err)
}
