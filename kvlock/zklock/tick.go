package zklock

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// tickNode is the name of a child of the lock's node that is not in the queue. Its content is the lock's tick (see
// [driver.Grant].Done). The child belongs to no session. While it exists, the servers do not remove the lock's node.
// Only names with a tick have it, so the number of children shows whether there is a tick to read.
//
// The child's name ends with eleven digits, so the function parse ignores it. Other programs with ZooKeeper's own
// recipes ignore it, or see a number that is larger than every sequence number.
const tickNode = "done__99999999999"

// tick is the content of a tick node.
type tick struct {
	Done  string       `json:"done"`
	Token driver.Token `json:"token"` // the token of the grant whose release recorded the tick
}

func (b *Backend) tickPath(key driver.Key) string { return b.container(key) + "/" + tickNode }

// tick reads the tick of a lock. It returns an empty tick if there is none.
func (b *Backend) tick(ctx context.Context, s *session, key driver.Key) (t tick, err error) {
	text, err := ask(ctx, s, func(c *zk.Conn) ([]byte, error) {
		text, _, err := c.Get(b.tickPath(key))
		return text, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return tick{}, nil
	}
	_ = json.Unmarshal(text, &t) // another program may have written other content
	return t, err
}

// last returns the tick for a grant of e, and gives up after ttl. If the last read of the queue showed no tick, there
// is none, and last sends no request. That read is not older than the release of the previous holder.
func (e *entry) last(ctx context.Context, ttl time.Duration) (string, error) {
	if !e.ticked.Load() {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, ttl)
	defer cancel()
	t, err := e.backend.tick(ctx, e.session, e.Key)
	return t.Done, err
}

// deleteOnce deletes the entry's node. If the parameter done is not empty, the same transaction records it as the tick.
// It writes the tick before it deletes the node, so that a waiter that learns of the deletion can read the tick.
func (e *entry) deleteOnce(done string) error {
	if done == "" {
		_, err := call(e.session, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(e.path, -1) })
		return err
	}
	text, _ := json.Marshal(tick{done, e.token}) // encoding a text and a number cannot fail
	for ticked := e.ticked.Load(); ; ticked = !ticked {
		var write any = &zk.CreateRequest{Path: e.backend.tickPath(e.Key), Data: text, Acl: e.backend.acl, Flags: zk.FlagPersistent}
		if ticked {
			write = &zk.SetDataRequest{Path: e.backend.tickPath(e.Key), Data: text, Version: -1}
		}
		results, err := e.multi(existence(e.path), write, &zk.DeleteRequest{Path: e.path, Version: -1})
		missing := ticked && errors.Is(err, zk.ErrNoNode) && len(results) > 0 && results[0].Error == nil
		if !missing && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
}

// hasRecorded returns nil if a release of e has recorded its tick, although the reply was lost. If no release of e has
// recorded it, hasRecorded returns driver.ErrNotHeld.
func (e *entry) hasRecorded() error {
	t, err := e.backend.tick(e.session.ctx, e.session, e.Key)
	switch {
	case err != nil || t.Token > e.token: // a later holder may have replaced the tick
		return errUnrecorded
	case t.Token < e.token:
		return driver.ErrNotHeld
	}
	return nil
}

// Prune implements [driver.Operator]. It deletes the tick of a free lock if both the tick and the last acquisition are
// at least as old as the parameter unused. The servers themselves remove the nodes of free locks without ticks. The
// times come from the servers' clocks. Their age is measured with the caller's clock.
func (b *Backend) Prune(ctx context.Context, unused time.Duration) (deleted int, err error) {
	return reading(b, func(s *session) (int, error) {
		keys, err := b.keys(ctx, s, "", true)
		for _, key := range keys {
			pruned, err := b.pruneTick(ctx, s, key, unused)
			if err != nil {
				return deleted, err
			}
			if pruned {
				deleted++
			}
		}
		return deleted, err
	})
}

// pruneTick deletes the tick of a lock, unless the lock is in use or was used too recently. The transaction fails if the
// lock was acquired since its node was read.
func (b *Backend) pruneTick(ctx context.Context, s *session, key driver.Key, unused time.Duration) (bool, error) {
	var stat *zk.Stat
	seen, err := b.look(ctx, s, key)
	if err == nil && seen.ticked && len(seen.queue) == 0 {
		stat, err = ask(ctx, s, func(c *zk.Conn) (*zk.Stat, error) {
			_, stat, err := c.Get(b.tickPath(key))
			return stat, err
		})
	}
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return false, nil
	case err != nil || stat == nil:
		return false, err
	}
	used := time.UnixMilli(max(seen.stat.Mtime, stat.Mtime))
	if max(0, time.Since(used)) < unused {
		return false, nil
	}
	_, err = askOnce(ctx, s, func(c *zk.Conn) ([]zk.MultiResponse, error) {
		return c.Multi(&zk.CheckVersionRequest{Path: b.container(key), Version: seen.stat.Version}, &zk.DeleteRequest{Path: b.tickPath(key), Version: stat.Version})
	})
	if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}
