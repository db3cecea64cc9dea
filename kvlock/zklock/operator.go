package zklock

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// operatorTTL chooses the session for operators. With the default TTL of a Locker, that session has locks too.
const operatorTTL = 30 * time.Second

// List implements [driver.Operator]. It returns the locks that are held or have a tick, because ZooKeeper stores
// nothing about other locks.
func (b *Backend) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	return reading(b, func(s *session) (list []driver.Status, err error) {
		keys, err := b.keys(ctx, s, namespace, all)
		for _, key := range keys {
			h, err := b.head(ctx, s, key)
			if err != nil {
				return nil, err
			}
			if h.held != nil || h.Done != "" {
				list = append(list, h.Status)
			}
		}
		slices.SortFunc(list, func(x, y driver.Status) int {
			return cmp.Or(cmp.Compare(x.Key.Namespace, y.Key.Namespace), cmp.Compare(x.Key.Name, y.Key.Name))
		})
		return list, err
	})
}

// keys lists the locks that have a node, in one namespace or in all.
func (b *Backend) keys(ctx context.Context, s *session, namespace string, all bool) (keys []driver.Key, err error) {
	nodes := []string{path.Base(b.under(namespace))}
	if all {
		if nodes, err = children(ctx, s, b.root); err != nil {
			return nil, err
		}
	}
	for _, node := range nodes {
		namespace, ok := namespaceOf(node)
		if !ok {
			continue
		}
		names, err := children(ctx, s, b.under(namespace))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			keys = append(keys, driver.Key{Namespace: namespace, Name: unescape(name)})
		}
	}
	return keys, nil
}

// head is the state of a lock, with its holder. If readers hold the lock, the holder is the oldest reader.
type head struct {
	driver.Status

	held  *driver.Held // the refusal that requests get; nil if the lock is free
	paths []string     // paths of the holders' nodes
}

func (b *Backend) head(ctx context.Context, s *session, key driver.Key) (head, error) {
	h := head{Status: driver.Status{Key: key}}
	for {
		nodes, err := children(ctx, s, b.container(key))
		if err == nil && slices.Contains(nodes, tickNode) {
			var last tick
			last, err = b.tick(ctx, s, key)
			h.Done = last.Done
		}
		q := queue(nodes)
		if err != nil || len(q) == 0 {
			return h, err
		}
		h.held, err = b.refusal(ctx, s, key, q)
		if err != nil {
			return h, err
		}
		if h.held == nil { // the node was just deleted
			continue
		}
		holders := readers(q, h.held.Token)
		if len(holders) == 0 {
			holders = q[:1]
		}
		for _, p := range holders {
			h.paths = append(h.paths, b.container(key)+"/"+p.node)
		}
		h.State = driver.StateHeld
		if h.held.Reason == driver.Paused {
			h.State = driver.StatePaused
		}
		h.Token, h.Holder, h.Note = h.held.Token, h.held.Holder, h.held.Note
		h.Readers, h.Waiters = h.held.Readers, len(q)-len(holders)
		return h, nil
	}
}

// Inspect implements [driver.Operator]. The token of a free lock is zero.
func (b *Backend) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	h, err := reading(b, func(s *session) (head, error) { return b.head(ctx, s, key) })
	return h.Status, err
}

// ForceRelease implements [driver.Operator]. It deletes the nodes of all holders, if they have the given token. Unless
// the parameter live is set, it refuses: every node in a queue belongs to a living session or to a paused lock.
func (b *Backend) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	for ended := false; ; {
		h, err := reading(b, func(s *session) (head, error) { return b.head(ctx, s, key) })
		switch {
		case err != nil:
			return err
		case h.held == nil || h.Token != token:
			if ended {
				return nil
			}
			return driver.ErrNotHeld
		case !live:
			return h.held
		}
		// Another reader may have joined the epoch after its readers were listed. No reader joins an epoch without a
		// reader, so the loop ends with the epoch.
		switch err := b.end(ctx, h.paths); {
		case err == nil:
			ended = true
		case !errors.Is(err, zk.ErrNoNode): // otherwise one of the holders has just released
			return err
		}
	}
}

// end deletes the holders' nodes. The request is not retried. After a broken connection, a retry could not tell whether
// this client or another client has deleted the nodes.
func (b *Backend) end(ctx context.Context, paths []string) error {
	var ops []any
	for _, at := range paths {
		ops = append(ops, &zk.DeleteRequest{Path: at, Version: -1})
	}
	s, err := b.session(operatorTTL)
	if err == nil {
		_, err = askOnce(ctx, s, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(ops...) })
	}
	return classify(err)
}

// reading calls the function read with the session for requests on which no lock depends.
func reading[T any](b *Backend, read func(*session) (T, error)) (T, error) {
	return again(func() (v T, err error) {
		s, err := b.session(operatorTTL)
		if err == nil {
			v, err = read(s)
		}
		return v, ofRead(err)
	})
}

// Pause replaces the node of g with a node that belongs to no session. The new node has the same sequence number, so
// it stays at the head of the queue. The id of the transaction that creates the new node (its czxid) is larger than
// the token. So Pause writes the token into the content of the new node.
func (b *Backend) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	if err := oneline.Join(b.err, ctx.Err()); err != nil {
		return driver.NotApplied(err)
	}
	b.mu.Lock()
	_, before := b.ended.Get(ending{as, g.Token})
	b.mu.Unlock()
	e := b.held(g)
	switch {
	case before:
		return nil
	case e == nil || e.Shared: // a shared lock cannot be paused, because its other holders would keep it
		return driver.ErrNotHeld
	}
	content := node{Holder: e.Holder, Note: e.Note, Token: e.token}
	container := b.container(e.Key) + "/"
	paused := container + protected + as.String() + strings.TrimPrefix(e.path, container+protected+e.Nonce.String())
	_, err := askOnce(ctx, e.session, func(c *zk.Conn) ([]zk.MultiResponse, error) {
		return c.Multi(
			&zk.DeleteRequest{Path: e.path, Version: -1},
			&zk.CreateRequest{Path: paused, Data: content.encode(), Acl: b.acl, Flags: zk.FlagPersistent},
		)
	})
	if errors.Is(err, zk.ErrNoNode) { // the servers may have executed an earlier request whose reply was lost
		_, err = b.read(ctx, e.session, paused)
	}
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return driver.ErrNotHeld
	case err != nil:
		return classify(err)
	}
	b.mu.Lock()
	b.ended.Put(ending{as, g.Token}, struct{}{})
	b.mu.Unlock()
	e.forget()
	return nil
}
