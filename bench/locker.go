package main

import (
	"context"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// ours is acquire and release of a free name.
func ours(name string, backend driver.Backend) (contender, error) {
	locker, err := rowlock.New(backend)
	if err != nil {
		return contender{}, err
	}
	return contender{name: name, close: func() { _ = locker.Close() }, cycle: func(ctx context.Context) error {
		lease, err := locker.Acquire(ctx, "bench")
		if err != nil {
			return err
		}
		return lease.Release(ctx)
	}}, nil
}

// ourCrowd is spread over so many lockers.
func ourCrowd(name string, lockers int, open func() (driver.Backend, func(), error)) crowd {
	return crowd{name, func(_ context.Context, members int) (all []acquirer, leave func(), err error) {
		var closers []func()
		leave = func() {
			for _, c := range closers {
				c()
			}
		}
		for range lockers {
			backend, closeClient, err := open()
			if err != nil {
				leave()
				return nil, nil, err
			}
			locker, err := rowlock.New(backend)
			if err != nil {
				closeClient()
				leave()
				return nil, nil, err
			}
			closers = append(closers, func() { _ = locker.Close(); closeClient() })
			for range share(members, lockers, len(closers)-1) {
				all = append(all, func(ctx context.Context) (func(context.Context) error, error) {
					lease, err := locker.Acquire(ctx, "crowd")
					if err != nil {
						return nil, err
					}
					return lease.Release, nil
				})
			}
		}
		return all, leave, nil
	}}
}

// share is how many of so many belong to the i-th part.
func share(all, parts, i int) int { return all*(i+1)/parts - all*i/parts }
