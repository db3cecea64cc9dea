package zklock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// List implements [driver.Operator]. It returns the locks that are held or have a tick, because ZooKeeper stores
// nothing about other locks.
func (b *Backend) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	return onAny(b.store, func(s *session) ([]driver.Status, error) { return b.list(ctx, s, namespace, all) })
}

func (s *store) list(ctx context.Context, open *session, namespace string, all bool) (list []driver.Status, err error) {
	namespaces := []string{namespace}
	if all {
		if namespaces, err = s.namespaces(ctx, open); err != nil {
			return nil, err
		}
	}
	for _, namespace := range namespaces {
		names, err := children(ctx, open, s.under(namespace))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			status, err := s.head(ctx, open, driver.Key{Namespace: namespace, Name: unescape(name)})
			if err != nil {
				return nil, err
			}
			if status.State != driver.StateFree || status.Done != "" {
				list = append(list, status.Status)
			}
		}
	}
	slices.SortFunc(list, func(x, y driver.Status) int {
		return cmp.Or(cmp.Compare(x.Key.Namespace, y.Key.Namespace), cmp.Compare(x.Key.Name, y.Key.Name))
	})
	return list, nil
}

func (s *store) namespaces(ctx context.Context, open *session) (all []string, err error) {
	nodes, err := children(ctx, open, s.root)
	for _, node := range nodes {
		if namespace, ok := namespaceOf(node); ok {
			all = append(all, namespace)
		}
	}
	return all, err
}

// children lists the children of a node as the leader knows them. The list is empty if the node does not exist.
func children(ctx context.Context, s *session, path string) ([]string, error) {
	found, err := ask(ctx, s, func(c *zk.Conn) ([]string, error) { return synced(c, path) })
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return found, err
}

// first is the state of a lock, and the paths of the holders' nodes.
type first struct {
	driver.Status

	paths []string
}

// head reads the state of a lock and its holder. For a shared lock it returns the oldest reader.
func (s *store) head(ctx context.Context, open *session, key driver.Key) (first, error) {
	for {
		nodes, err := children(ctx, open, s.container(key))
		var last tick
		if err == nil && slices.Contains(nodes, tickNode) {
			last, err = s.tick(ctx, open, key)
		}
		q := queue(nodes)
		if err != nil || len(q) == 0 {
			return first{Status: driver.Status{Key: key, Done: last.Done}}, err
		}
		path := s.container(key) + "/" + q[lead(q)].node
		n, err := s.read(ctx, open, path)
		if errors.Is(err, zk.ErrNoNode) { // the node was just deleted
			continue
		}
		state := driver.StateHeld
		if n.paused {
			state = driver.StatePaused
		}
		paths := []string{path}
		sharing := readers(q, n.token)
		if sharing > 0 {
			paths = paths[:0]
			for i, p := range q {
				if p.reads(i, n.token) {
					paths = append(paths, s.container(key)+"/"+p.node)
				}
			}
		}
		return first{driver.Status{
			Key: key, State: state, Token: n.token, Holder: n.Holder, Note: n.Note, Done: last.Done,
			Readers: sharing, Waiters: len(q) - len(paths),
		}, paths}, err
	}
}

// Inspect implements [driver.Operator]. The token of a free lock is zero.
func (b *Backend) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	f, err := onAny(b.store, func(s *session) (first, error) { return b.head(ctx, s, key) })
	return f.Status, err
}

// ForceRelease implements [driver.Operator]. It deletes the nodes of all holders, if they have the given token. Unless
// the parameter live is set, it refuses: every node in a queue belongs to a living session or to a paused lock.
func (b *Backend) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	for ended := false; ; {
		f, err := onAny(b.store, func(s *session) (first, error) { return b.head(ctx, s, key) })
		switch {
		case err != nil:
			return err
		case f.State == driver.StateFree || f.Token != token:
			if ended {
				return nil
			}
			return driver.ErrNotHeld
		case !live:
			held := node{value: value{Holder: f.Holder, Note: f.Note}, token: f.Token, paused: f.State == driver.StatePaused}.holds()
			held.Readers = f.Readers
			return held
		}
		for _, path := range f.paths {
			err := b.end(ctx, path)
			if err != nil && !errors.Is(err, driver.ErrNotHeld) {
				return err
			}
			ended = ended || err == nil
		}
		if f.Readers == 0 {
			if !ended {
				return driver.ErrNotHeld
			}
			return nil
		}
		// Another reader may have joined the epoch after its readers were listed. No reader joins an epoch without a
		// reader, so the loop ends with the epoch.
	}
}

// end deletes a holder's node.
func (b *Backend) end(ctx context.Context, path string) error {
	open, err := b.any()
	if err != nil {
		return err
	}
	if err := open.await(ctx); err != nil {
		return err
	}
	// The request is not retried. After a broken connection, a retry could not tell whether this client or another
	// client has deleted the node.
	_, err = askOnce(ctx, open, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(path, -1) })
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return driver.ErrNotHeld
	case ambiguous(err):
		return fmt.Errorf("zklock: the servers did not answer: %v", err) //nolint:errorlint // the error does not say whether the node was deleted
	}
	return classify(err)
}

// onAny calls the function do with any session. It is for requests on which no lock depends. If the session had already
// ended, onAny retries once.
func onAny[T any](s *store, do func(*session) (T, error)) (T, error) {
	for again := true; ; again = false {
		open, err := s.any()
		if err != nil {
			var none T
			return none, err
		}
		v, err := do(open)
		if !again || !overBefore(classify(err)) {
			return v, err
		}
	}
}
