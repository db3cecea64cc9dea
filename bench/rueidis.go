package main

import (
	"context"
	"net/url"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// rueidisLock uses the options that its documentation recommends for one server of version 7.0.5 or newer.
// The server notifies the client when a key has changed.
func rueidisLock(_ context.Context, at []string, t task) (*party, error) {
	address, err := url.Parse(at[0])
	if err != nil {
		return nil, err
	}
	locks, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{address.Host}},
		KeyMajority:  1, NoLoopTracking: true, KeyValidity: t.TTL, // if 0, the library uses its default
	})
	if err != nil {
		return nil, err
	}
	return gather(t.Members, locks.Close, func() (acquirer, error) {
		return func(ctx context.Context) (held, error) {
			during, end, err := locks.WithContext(ctx, t.Name)
			if err != nil {
				return held{}, err
			}
			return held{lost: during.Done(), release: func(context.Context) error { end(); return nil }}, nil
		}, nil
	})
}
