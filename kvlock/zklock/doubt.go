package zklock

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
)

// find looks for the node of a request whose reply was lost. It uses a new connection of the same session, so the lost
// request cannot arrive after the search. It first makes the leader commit a request, so that the search sees the
// result of every earlier request.
func (e *entry) find(container string) error {
	s := e.session
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		if err := s.await(s.ctx); err != nil {
			return err
		}
		answered := s.watchdog()
		path, stat, err := e.search(container)
		answered()
		switch {
		case err == nil:
			e.path, e.token = path, tokenAt(path, stat)
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return driver.NotApplied(errNotCreated)
		case isAny(err, refusedFor):
			return err
		}
		backoff.Sleep(s.ctx, pause)
	}
}

// search finds the node of e by its nonce and its session. It returns zk.ErrNoNode if there is no such node. It
// compares the session, because an earlier session of this process may have left another node with the same nonce.
func (e *entry) search(container string) (string, *zk.Stat, error) {
	// A sync is not enough: a deposed leader that does not know of its deposition answers a sync alone.
	if _, err := e.session.conn.Multi(existence(container)); err != nil {
		return "", nil, err
	}
	children, _, err := e.session.conn.Children(container)
	if err != nil {
		return "", nil, err
	}
	for _, p := range queue(children) {
		if p.nonce == e.nonce {
			path := container + "/" + p.node
			_, stat, err := e.session.conn.Get(path)
			if err == nil && stat.EphemeralOwner == e.session.conn.SessionID() {
				return path, stat, nil
			}
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return "", nil, err
			}
		}
	}
	return "", nil, zk.ErrNoNode
}

// synced lists the children of a node as the leader knows them. That leader may be a deposed leader that does not know
// of its deposition.
func synced(c *zk.Conn, path string) ([]string, error) {
	if _, err := c.Sync(path); err != nil {
		return nil, err
	}
	children, _, err := c.Children(path)
	return children, err
}
