package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
)

// page is how many keys are looked at in one trip.
const page = 500

var states = map[string]driver.State{
	"free": driver.StateFree, "held": driver.StateHeld, "expired": driver.StateExpired, "closed": driver.StateClosed,
}

// Inspect implements [driver.Inspector].
func (b *Backend) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	s, err := do(ctx, b, func(ctx context.Context) (driver.Status, error) {
		return status(key, run(ctx, b.client, call{inspectScript, []string{b.options.encode(key)}, nil}))
	})
	if err != nil {
		err = describe(ctx, "inspect", key, err)
	}
	return s, err
}

func status(key driver.Key, cmd *redis.Cmd) (driver.Status, error) {
	s := driver.Status{Key: key}
	a, err := read(cmd)
	if err != nil || a.verdict == "" {
		return s, err
	}
	s.State, s.Token, s.Holder, s.Note = states[a.verdict], a.token, a.holder, a.note
	s.Age, s.ExpiresIn, s.FreeIn = a.times[0], a.times[1], a.times[2]
	s.KnowPause()
	return s, nil
}

// List implements [driver.Inspector]. It goes through all keys of the database, a page at a time, and so
// takes as long as there are keys; locks that come or go meanwhile may be in it or not.
func (b *Backend) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	list, err := do(ctx, b, func(ctx context.Context) ([]driver.Status, error) {
		return b.known(ctx, namespace, all)
	})
	if err != nil {
		return nil, describe(ctx, "list locks", driver.Key{}, err)
	}
	slices.SortFunc(list, byKey)
	return list, nil
}

// Prune implements [driver.Inspector]. A released lock is forgotten by itself after some minutes, and every other one after the
// retention, so Prune is needed only where that is too late. Tokens go on rising: the server's record keeps the largest.
func (b *Backend) Prune(ctx context.Context, unused time.Duration) (int, error) {
	n, err := do(ctx, b, func(ctx context.Context) (int, error) {
		return b.forget(ctx, unused)
	})
	if err != nil {
		err = describe(ctx, "prune locks", driver.Key{}, err)
	}
	return n, err
}

// scan runs a script for each lock that there is, once, and hands its answers to each, one at a time.
func (b *Backend) scan(ctx context.Context, what script, args []any, each func(driver.Key, *redis.Cmd) error) error {
	var mu sync.Mutex
	seen := make(map[string]bool)
	look := func(ctx context.Context, server redis.Cmdable) error {
		var cursor uint64
		for {
			keys, next, err := server.ScanType(ctx, cursor, b.options.pattern(), page, "hash").Result()
			if err != nil {
				return err
			}
			var locks []driver.Key
			var calls []call
			mu.Lock()
			for _, k := range keys {
				lock, err := b.options.decode(k)
				if err != nil || seen[k] {
					continue
				}
				seen[k] = true
				keys := []string{k}
				if what.recorded {
					keys = b.recorded(k)
				}
				locks, calls = append(locks, lock), append(calls, call{what, keys, args})
			}
			mu.Unlock()
			cmds := runAll(ctx, b.client, calls)
			mu.Lock()
			for i, cmd := range cmds {
				if err = each(locks[i], cmd); err != nil {
					break
				}
			}
			mu.Unlock()
			if cursor = next; err != nil || cursor == 0 {
				return err
			}
		}
	}
	if c, ok := b.client.(*redis.ClusterClient); ok {
		return c.ForEachMaster(ctx, func(ctx context.Context, primary *redis.Client) error { return look(ctx, primary) })
	}
	return look(ctx, b.client)
}

// ForceRelease implements [driver.Inspector].
func (b *Backend) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	_, err := do(ctx, b, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, b.forceRelease(ctx, key, token, live)
	})
	var held *driver.Held
	if err != nil && !errors.Is(err, driver.ErrNotHeld) && !errors.As(err, &held) {
		err = describe(ctx, "force the release of", key, err)
	}
	return err
}

func (b *Backend) forceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	alive := "0"
	if live {
		alive = "1"
	}
	a, err := read(run(ctx, b.client, call{
		forceReleaseScript, []string{b.options.encode(key)}, []any{token.String(), alive, b.options.retention.Milliseconds()},
	}))
	switch {
	case err != nil:
		return err
	case a.verdict == "leased":
		return a.held()
	case a.verdict == "released":
		return nil
	case a.verdict == "not held":
		return driver.ErrNotHeld
	}
	return fmt.Errorf("a script answered %q", a.verdict)
}

// known is the locks that the server has a key of, in no order.
func (b *Backend) known(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	list := []driver.Status{}
	err := b.scan(ctx, inspectScript, nil, func(key driver.Key, cmd *redis.Cmd) error {
		if !all && key.Namespace != namespace {
			return nil
		}
		s, err := status(key, cmd)
		if err == nil && s.Token > 0 {
			list = append(list, s)
		}
		return err
	})
	return list, err
}

func byKey(x, y driver.Status) int {
	return cmp.Or(cmp.Compare(x.Key.Namespace, y.Key.Namespace), cmp.Compare(x.Key.Name, y.Key.Name))
}

// forget forgets the locks that nobody has held for a while, and counts them.
func (b *Backend) forget(ctx context.Context, unused time.Duration) (n int, err error) {
	err = b.scan(ctx, pruneScript, []any{micros(unused)}, func(_ driver.Key, cmd *redis.Cmd) error {
		pruned, err := cmd.Bool()
		if pruned {
			n++
		}
		return err
	})
	return n, err
}
