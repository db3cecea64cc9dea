package zklock

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// sight is the state of a lock's node, as the session's server knows it.
type sight struct {
	queue  []place
	ticked bool     // the lock has a tick
	stat   *zk.Stat // of the lock's node, which exclusive requests and the first readers of an epoch write
}

// look reads the lock's node.
func (b *Backend) look(ctx context.Context, s *session, key driver.Key) (sight, error) {
	return ask(ctx, s, func(c *zk.Conn) (sight, error) {
		children, stat, err := c.Children(b.container(key))
		if err != nil {
			return sight{}, err
		}
		return sight{queue(children), slices.Contains(children, tickNode), stat}, nil
	})
}

// refusal describes the holder. It returns nil if the holder's node was just deleted. It sets no times, because only
// the leader knows when the holder's session ends.
func (b *Backend) refusal(ctx context.Context, s *session, key driver.Key, q []place) (*driver.Held, error) {
	n, err := b.read(ctx, s, b.container(key)+"/"+lead(q).node)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return n.holds(q), nil
}

// node is the content and state of an entry's node.
type node struct {
	Holder string       `json:"holder,omitempty"`
	Note   string       `json:"note,omitempty"`
	Token  driver.Token `json:"token,omitempty"` // the content has it only for a pause, because its token is older than its node

	session int64 // the id of the session to which the node belongs; zero for a pause
}

// parseNode also accepts content that this package did not write.
func parseNode(at string, data []byte, stat *zk.Stat) (n node) {
	_ = json.Unmarshal(data, &n)
	n.session = stat.EphemeralOwner
	if n.session != 0 || n.Token == 0 {
		p, _ := parse(path.Base(at))
		n.Token = cmp.Or(p.epoch, driver.Token(stat.Czxid))
	}
	return n
}

func (n node) encode() []byte {
	text, _ := json.Marshal(n) // cannot fail
	return text
}

// holds returns the refusal that other requests get while n is the holder's node in the queue q.
func (n node) holds(q []place) *driver.Held {
	reason := driver.Leased
	if n.session == 0 {
		reason = driver.Paused
	}
	return &driver.Held{Reason: reason, Holder: n.Holder, Note: n.Note, Token: n.Token, Readers: len(readers(q, n.Token))}
}

func (b *Backend) read(ctx context.Context, s *session, path string) (node, error) {
	return ask(ctx, s, func(c *zk.Conn) (node, error) {
		data, stat, err := c.Get(path)
		if err != nil {
			return node{}, err
		}
		return parseNode(path, data, stat), nil
	})
}

// existence returns an operation that fails if a node does not exist.
func existence(path string) *zk.CheckVersionRequest {
	return &zk.CheckVersionRequest{Path: path, Version: -1}
}

// children lists the children of a node as the leader knows them. That leader may be a deposed leader that does
// not know of its deposition. The list is empty if the node does not exist.
func children(ctx context.Context, s *session, path string) ([]string, error) {
	found, err := ask(ctx, s, func(c *zk.Conn) ([]string, error) {
		if _, err := c.Sync(path); err != nil {
			return nil, err
		}
		children, _, err := c.Children(path)
		return children, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return found, err
}

// make creates the container node of a lock, and the nodes above it. The servers remove the container node when it
// stays empty. The nodes above it stay.
func (b *Backend) make(ctx context.Context, s *session, key driver.Key) error {
	err := b.create(ctx, s, b.container(key), true)
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	at := ""
	for part := range strings.SplitSeq(strings.TrimPrefix(b.under(key.Namespace), "/"), "/") {
		at += "/" + part
		// ErrNoAuth is no failure here: the user may have no right to create a node that already exists. If the node is
		// missing, creating the next node fails.
		if err = b.create(ctx, s, at, false); err != nil && !errors.Is(err, zk.ErrNoAuth) {
			return err
		}
	}
	return b.create(ctx, s, b.container(key), true)
}

func (b *Backend) create(ctx context.Context, s *session, path string, container bool) error {
	_, err := ask(ctx, s, func(c *zk.Conn) (string, error) {
		if container {
			return c.CreateContainer(path, nil, zk.FlagContainer, b.acl)
		}
		return c.Create(path, nil, zk.FlagPersistent, b.acl)
	})
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}
