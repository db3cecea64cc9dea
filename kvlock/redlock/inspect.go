package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// inspectTime is how long an inspection waits for a node, unless NodeTimeout is longer.
const inspectTime = time.Second

// survey calls the function ask for all nodes in parallel, and returns the values of the nodes that answered. It fails
// unless a majority has answered.
func survey[T any](ctx context.Context, r *Backend, ask func(context.Context, *redis.Client) (T, error)) ([]T, error) {
	if err := r.begin(); err != nil {
		return nil, err
	}
	defer r.crew.Leave()
	if err := ctx.Err(); err != nil {
		return nil, driver.NotApplied(err)
	}
	limit := max(inspectTime, r.options.nodeTimeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	q := inquire(r, func(n *node) func() (T, error) {
		return func() (T, error) {
			value, err := ask(ctx, n.within(limit))
			return value, redisbase.Classify(err)
		}
	})
	var values []T
	var f failures
	for one := range q.within(ctx, limit) {
		if one.err != nil {
			f.add(one.node, one.err)
			continue
		}
		values = append(values, one.value)
	}
	if len(values) < r.quorum() {
		return nil, r.tooFew(len(values), "answered", f)
	}
	return values, nil
}

// at gives access to the locks at one node.
func (r *Backend) at(c *redis.Client) redisbase.Locks {
	return redisbase.Locks{Client: c, Prefix: r.options.prefix}
}

// Inspect implements [driver.Operator]. A lock is held if a majority of the nodes reports it as held. Inspect and List
// do not count waiters, because each node keeps the waiters in a separate key.
func (r *Backend) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	views, err := survey(ctx, r, func(ctx context.Context, c *redis.Client) (driver.Status, error) {
		return r.at(c).Inspect(ctx, key)
	})
	if err != nil {
		return driver.Status{}, redisbase.Describe(ctx, pkg, "inspect", key, err)
	}
	return r.merge(key, views), nil
}

// merge combines the states of a lock at the nodes. It returns the state that a majority of nodes shares. If no
// majority agrees, a client is acquiring the lock, or has failed while acquiring it. merge then returns the newest
// grant with the times of the median node.
func (r *Backend) merge(key driver.Key, views []driver.Status) driver.Status {
	if len(views) == 0 {
		return driver.Status{Key: key}
	}
	for _, v := range views {
		if count(views, func(o driver.Status) bool { return o.Token == v.Token && o.State == v.State }) >= r.quorum() {
			return v
		}
	}
	newest := slices.MaxFunc(views, func(x, y driver.Status) int { return cmp.Compare(x.Token, y.Token) })
	if newest.State == driver.StateFree {
		return newest
	}
	// Use the state of the median node.
	slices.SortFunc(views, func(x, y driver.Status) int { return cmp.Compare(x.FreeIn, y.FreeIn) })
	middle := views[min(r.quorum(), len(views))-1]
	newest.State, newest.ExpiresIn, newest.FreeIn = middle.State, middle.ExpiresIn, middle.FreeIn
	return newest
}

// List implements [driver.Operator]. It scans all keys of all nodes. The list includes locks that only a minority of
// the nodes has: a client may be acquiring or releasing them.
func (r *Backend) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	lists, err := survey(ctx, r, func(ctx context.Context, c *redis.Client) ([]driver.Status, error) {
		return r.at(c).List(ctx, namespace, all)
	})
	if err != nil {
		return nil, redisbase.Describe(ctx, pkg, "list locks", driver.Key{}, err)
	}
	views := make(map[driver.Key][]driver.Status)
	for _, list := range lists {
		for _, s := range list {
			views[s.Key] = append(views[s.Key], s)
		}
	}
	merged := []driver.Status{}
	for key, of := range views {
		merged = append(merged, r.merge(key, of))
	}
	redisbase.Sort(merged)
	return merged, nil
}

// Prune implements [driver.Operator], at each node separately. It returns the largest number of locks that one node has
// deleted. Tokens keep rising, because each node keeps the largest token that it ever confirmed.
func (r *Backend) Prune(ctx context.Context, unused time.Duration) (int, error) {
	counts, err := survey(ctx, r, func(ctx context.Context, c *redis.Client) (int, error) {
		return r.at(c).Prune(ctx, unused)
	})
	if err != nil {
		return 0, redisbase.Describe(ctx, pkg, "prune locks", driver.Key{}, err)
	}
	return slices.Max(counts), nil
}

// ForceRelease implements [driver.Operator]. A majority of the nodes replaces the given token with a larger token. Each
// node makes this token itself, because the next grant's token must be larger than the tokens of all nodes that grant it.
func (r *Backend) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	err := r.forceRelease(ctx, key, token, live)
	var held *driver.Held
	if err != nil && !errors.Is(err, driver.ErrNotHeld) && !errors.As(err, &held) {
		err = redisbase.Describe(ctx, pkg, "force release of", key, err)
	}
	return err
}

func (r *Backend) forceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	seen, err := r.Inspect(ctx, key)
	switch {
	case err != nil:
		return driver.NotApplied(err)
	case seen.Token != token || token == 0 || seen.State == driver.StateFree:
		return driver.ErrNotHeld
	case seen.State == driver.StateHeld && !live:
		return &driver.Held{Holder: seen.Holder, Note: seen.Note, Token: seen.Token, Since: seen.Age, ExpiresIn: seen.FreeIn}
	}
	ended, err := survey(ctx, r, func(ctx context.Context, c *redis.Client) (bool, error) {
		return redisbase.Run(ctx, c, forceScript.On([]string{r.options.prefix.Encode(key), r.options.prefix.Record()},
			token.String(), retention.Milliseconds(),
		)).Bool()
	})
	if err != nil {
		return err
	}
	if count(ended, func(done bool) bool { return done }) < r.quorum() {
		return driver.ErrNotHeld
	}
	return nil
}

// Pause implements [driver.Operator]. Redlock does not support it, because a majority of the servers can lose the
// pause.
func (r *Backend) Pause(context.Context, driver.Grant, driver.Nonce) error {
	return driver.Permanent(fmt.Errorf("redlock cannot pause a name: %w", errors.ErrUnsupported))
}
