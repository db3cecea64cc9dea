package zklock

import (
	"context"
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// make creates the container node of a lock, and the nodes above it. The servers remove the container node when it
// stays empty. The nodes above it stay.
func (s *store) make(ctx context.Context, open *session, key driver.Key) error {
	err := s.create(ctx, open, s.container(key), true)
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	path := ""
	for part := range strings.SplitSeq(strings.TrimPrefix(s.under(key.Namespace), "/"), "/") {
		path += "/" + part
		// ErrNoAuth is no failure here: the user may have no right to create a node that already exists. If the node is
		// missing, creating the next node fails.
		if err = s.create(ctx, open, path, false); err != nil && !errors.Is(err, zk.ErrNoAuth) {
			return err
		}
	}
	return s.create(ctx, open, s.container(key), true)
}

func (s *store) create(ctx context.Context, open *session, path string, container bool) error {
	_, err := ask(ctx, open, func(c *zk.Conn) (string, error) {
		if container {
			return c.CreateContainer(path, nil, zk.FlagContainer, s.acl)
		}
		return c.Create(path, nil, zk.FlagPersistent, s.acl)
	})
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}
