package zklock

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// free reads the lock. If no entry blocks the request, free returns an admission, so that the request is granted only
// if the lock has not changed since. If an entry blocks the request, free returns a refusal.
func (b *Backend) free(ctx context.Context, s *session, r driver.Request) (admission, error) {
	b.mu.Lock()
	version, known := b.versions.get(r.Key)
	b.mu.Unlock()
	// When this process released its last grant, the lock's node had this version. If the version is still current, the
	// queue is empty.
	if known && !r.Shared && !r.Waiting {
		return admission{version: version}, nil
	}
	for synced := false; ; {
		seen, err := b.look(ctx, s, r.Key)
		if errors.Is(err, zk.ErrNoNode) {
			return admission{}, b.make(ctx, s, r.Key)
		}
		if err != nil {
			return admission{}, err
		}
		if len(seen.queue) == 0 {
			return admission{version: seen.version}, nil
		}
		if r.Shared && firstClosing(seen.queue) < 0 {
			return b.join(ctx, s, r.Key, seen)
		}
		if synced {
			held, err := b.refusal(ctx, s, r.Key, seen.queue)
			if err != nil {
				return admission{}, err
			}
			if held != nil {
				return admission{}, held
			}
		}
		// The session's server may be behind the other servers. If it wrongly reports a free lock, that does no harm:
		// the leader checks the version when the node is created. If it reports a held lock, the lock may be free by
		// now, so a sync must confirm the report.
		if _, err := ask(ctx, s, func(c *zk.Conn) (string, error) { return c.Sync(b.container(r.Key)) }); err != nil {
			return admission{}, err
		}
		synced = true
	}
}

// sight is the state of a lock's node, as the session's server knows it.
type sight struct {
	queue    []place
	ticked   bool  // the lock has a tick
	version  int32 // version of the lock's node
	written  int64 // id of the last transaction that created or wrote the lock's node; exclusive requests and the first readers of an epoch write it
	acquired int64 // time of that transaction, in milliseconds since 1970
}

// look reads the lock's node.
func (s *store) look(ctx context.Context, open *session, key driver.Key) (sight, error) {
	return ask(ctx, open, func(c *zk.Conn) (sight, error) {
		children, stat, err := c.Children(s.container(key))
		if err != nil {
			return sight{}, err
		}
		return sight{queue(children), slices.Contains(children, tickNode), stat.Version, stat.Mzxid, stat.Mtime}, nil
	})
}

// refusal describes the holder. It returns nil if the holder's node was just deleted. It sets no times, because only
// the leader knows when the holder's session ends.
func (s *store) refusal(ctx context.Context, open *session, key driver.Key, q []place) (*driver.Held, error) {
	n, err := s.read(ctx, open, s.container(key)+"/"+q[lead(q)].node)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	held := n.holds()
	held.Readers = readers(q, n.token)
	return held, nil
}

// node is the content and state of an entry's node.
type node struct {
	value

	token  driver.Token
	paused bool // the node belongs to no session
}

func parseNode(path string, data []byte, stat *zk.Stat) node {
	n := node{parseValue(data), tokenAt(path, stat), stat.EphemeralOwner == 0}
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
		return parseNode(path, data, stat), nil
	})
}
