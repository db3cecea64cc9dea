package locktest

import (
	"context"
	"errors"
	"slices"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

type saysNothing struct{ *memlock.Backend }

func (m saysNothing) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := m.Backend.Acquire(ctx, r)
	var held *driver.Held
	if errors.As(err, &held) {
		return g, &driver.Held{ExpiresIn: held.ExpiresIn}
	}
	return g, err
}

type cutsHolder struct{ *memlock.Backend }

func (m cutsHolder) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Holder = r.Holder[:min(64, len(r.Holder))]
	return m.Backend.Acquire(ctx, r)
}

type wakesNobody struct{ *memlock.Backend }

func (m wakesNobody) Notify(context.Context, driver.Key, func()) (stop func(), err error) {
	return func() {}, nil
}

type wakesAtOnce struct{ *memlock.Backend }

func (m wakesAtOnce) Notify(_ context.Context, _ driver.Key, wake func()) (stop func(), err error) {
	wake()
	return func() {}, nil
}

type showsFree struct{ *memlock.Backend }

func (m showsFree) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	s, err := m.Backend.Inspect(ctx, key)
	s.State = driver.StateFree
	return s, err
}

type showsNoWaiter struct{ *memlock.Backend }

func (m showsNoWaiter) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	s, err := m.Backend.Inspect(ctx, key)
	s.Waiters = 0
	return s, err
}

type listsNoWaiter struct{ *memlock.Backend }

func (m listsNoWaiter) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	list, err := m.Backend.List(ctx, namespace, all)
	for i := range list {
		list[i].Waiters = 0
	}
	return list, err
}

// countsHolder counts the holder as a waiter. A store may do so if it keeps the holder at the head of its queue.
type countsHolder struct{ *memlock.Backend }

func (m countsHolder) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	s, err := m.Backend.Inspect(ctx, key)
	if s.State == driver.StateHeld {
		s.Waiters++
	}
	return s, err
}

type listsAll struct{ *memlock.Backend }

func (m listsAll) List(ctx context.Context, namespace string, _ bool) ([]driver.Status, error) {
	return m.Backend.List(ctx, namespace, true)
}

type listsBackwards struct{ *memlock.Backend }

func (m listsBackwards) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	list, err := m.Backend.List(ctx, namespace, all)
	slices.Reverse(list)
	return list, err
}

type forcesAnything struct{ *memlock.Backend }

func (m forcesAnything) ForceRelease(ctx context.Context, key driver.Key, _ driver.Token, _ bool) error {
	seen, err := m.Inspect(ctx, key)
	if err != nil {
		return err
	}
	return m.Backend.ForceRelease(ctx, key, seen.Token, true)
}

// forcesUnfenced ends the lease, but does not raise the token.
type forcesUnfenced struct{ *memlock.Backend }

func (m forcesUnfenced) ForceRelease(_ context.Context, key driver.Key, _ driver.Token, _ bool) error {
	m.Expire(key)
	return nil
}

type saysNothingToWhoWaits struct{ *memlock.Backend }

func (m saysNothingToWhoWaits) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if r.Waiting {
		return saysNothing(m).Acquire(ctx, r)
	}
	return m.Backend.Acquire(ctx, r)
}
