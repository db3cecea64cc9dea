package zklock

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// free returns a version of the lock's node at which no entry blocked the request. If an entry blocks the request, the
// method returns a refusal.
func (b *Backend) free(ctx context.Context, s *session, r driver.Request) (int32, error) {
	b.mu.Lock()
	version, known := b.versions.get(r.Key)
	b.mu.Unlock()
	// When this process released its last grant, the lock's node had this version. If the version is still current, the
	// queue is empty.
	if known && !b.shared && !r.Waiting {
		return version, nil
	}
	for synced := false; ; {
		seen, err := b.look(ctx, s, r.Key)
		if errors.Is(err, zk.ErrNoNode) {
			return 0, b.make(ctx, s, r.Key)
		}
		if err != nil {
			return 0, err
		}
		if len(before(seen.queue, b.shared)) == 0 {
			return seen.version, nil
		}
		if synced {
			held, err := b.refusal(ctx, s, r.Key, seen.queue[0])
			if err != nil {
				return 0, err
			}
			if held != nil {
				return 0, held
			}
		}
		// The session's server may be behind the other servers. If it wrongly reports a free lock, that does no harm:
		// the leader checks the version when the node is created. If it reports a held lock, the lock may be free by
		// now, so a sync must confirm the report.
		if _, err := ask(ctx, s, func(c *zk.Conn) (string, error) { return c.Sync(b.container(r.Key)) }); err != nil {
			return 0, err
		}
		synced = true
	}
}

// sight is the state of a lock's node, as the session's server knows it.
type sight struct {
	queue    []place
	ticked   bool  // the lock has a tick
	version  int32 // version of the lock's node
	acquired int64 // time of the last acquisition, in milliseconds since 1970
}

// look reads the lock's node.
func (s *store) look(ctx context.Context, open *session, key driver.Key) (sight, error) {
	return ask(ctx, open, func(c *zk.Conn) (sight, error) {
		children, stat, err := c.Children(s.container(key))
		if err != nil {
			return sight{}, err
		}
		return sight{queue(children), slices.Contains(children, tickNode), stat.Version, stat.Mtime}, nil
	})
}

// refusal describes the holder. It returns nil if the holder's node was just deleted. It sets no times, because only
// the leader knows when the holder's session ends.
func (s *store) refusal(ctx context.Context, open *session, key driver.Key, first place) (*driver.Held, error) {
	n, err := s.read(ctx, open, s.container(key)+"/"+first.node)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return n.holds(), nil
}

// node is the content and state of an entry's node.
type node struct {
	value

	token  driver.Token
	paused bool // the node belongs to no session
}

func parseNode(data []byte, stat *zk.Stat) node {
	n := node{parseValue(data), driver.Token(stat.Czxid), stat.EphemeralOwner == 0}
	if n.paused && n.Token != 0 {
		n.token = n.Token
	}
	return n
}

// holds returns the refusal that other requests get while n is the holder's node.
func (n node) holds() *driver.Held {
	reason := driver.Leased
	if n.paused {
		reason = driver.Paused
	}
	return &driver.Held{Reason: reason, Holder: n.Holder, Note: n.Note, Token: n.token}
}

func (s *store) read(ctx context.Context, open *session, path string) (node, error) {
	return ask(ctx, open, func(c *zk.Conn) (node, error) {
		data, stat, err := c.Get(path)
		if err != nil {
			return node{}, err
		}
		return parseNode(data, stat), nil
	})
}
