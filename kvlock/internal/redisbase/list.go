package redisbase

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
)

// page is how many keys SCAN reads in one round trip.
const page = 500

var (
	inspectScript = Load(own, "inspect").WithLists()
	pruneScript   = Load(own, "prune").WithRecord()
)

var states = map[string]driver.State{
	"free": driver.StateFree, "held": driver.StateHeld, "expired": driver.StateExpired, "closed": driver.StateClosed,
}

// Locks gives operators access to the locks with one prefix on one server or one Cluster.
type Locks struct {
	Client redis.UniversalClient
	Prefix Prefix
}

// Inspect returns the state of one lock.
func (l Locks) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	return status(key, Run(ctx, l.Client, inspectScript.On([]string{l.Prefix.Encode(key)})))
}

func status(key driver.Key, cmd *redis.Cmd) (driver.Status, error) {
	s := driver.Status{Key: key}
	a, err := Read(cmd)
	if err != nil || a.Verdict == "" {
		return s, err
	}
	s.State, s.Token, s.Holder, s.Note, s.Done, s.Waiters, s.Readers = states[a.Verdict], a.Token, a.Holder, a.Note, a.Done, a.Waiters, a.Readers
	s.Age, s.ExpiresIn, s.FreeIn = a.Since, a.ExpiresIn, a.FreeIn
	s.KnowPause()
	return s, nil
}

// List returns the locks of a namespace, or of all namespaces, sorted by key.
func (l Locks) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	list := []driver.Status{}
	err := l.scan(ctx, inspectScript, nil, func(key driver.Key, cmd *redis.Cmd) error {
		if !all && key.Namespace != namespace {
			return nil
		}
		s, err := status(key, cmd)
		if err == nil && s.Token > 0 {
			list = append(list, s)
		}
		return err
	})
	Sort(list)
	return list, err
}

// Sort sorts locks by key.
func Sort(list []driver.Status) { slices.SortFunc(list, byKey) }

func byKey(x, y driver.Status) int {
	return cmp.Or(cmp.Compare(x.Key.Namespace, y.Key.Namespace), cmp.Compare(x.Key.Name, y.Key.Name))
}

// Prune deletes the locks that have been free for at least unused, and returns how many it deleted.
func (l Locks) Prune(ctx context.Context, unused time.Duration) (n int, err error) {
	err = l.scan(ctx, pruneScript, []any{Micros(unused)}, func(_ driver.Key, cmd *redis.Cmd) error {
		pruned, err := cmd.Bool()
		if pruned {
			n++
		}
		return err
	})
	return n, err
}

// scan runs a script once for each lock, and passes every reply to the function each. It never calls that function
// twice at the same time.
func (l Locks) scan(ctx context.Context, what Script, args []any, each func(driver.Key, *redis.Cmd) error) error {
	var mu sync.Mutex
	seen := make(map[string]bool)
	look := func(ctx context.Context, server redis.Cmdable) error {
		var cursor uint64
		for {
			keys, next, err := server.ScanType(ctx, cursor, l.Prefix.Pattern(), page, "hash").Result()
			if err != nil {
				return err
			}
			var locks []driver.Key
			var calls []Call
			mu.Lock()
			for _, k := range keys {
				lock, err := l.Prefix.Decode(k)
				if err != nil || seen[k] {
					continue
				}
				seen[k] = true
				keys := []string{k}
				if what.recorded {
					keys = Recorded(l.Client, l.Prefix, k)
				}
				locks, calls = append(locks, lock), append(calls, what.On(keys, args...))
			}
			mu.Unlock()
			cmds := RunAll(ctx, l.Client, calls)
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
	if c, ok := l.Client.(*redis.ClusterClient); ok {
		return c.ForEachMaster(ctx, func(ctx context.Context, primary *redis.Client) error { return look(ctx, primary) })
	}
	return look(ctx, l.Client)
}
