package zklock

import (
	"context"
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Pause replaces the node of g with a node that belongs to no session. The new node has the same sequence number, so
// it stays at the head of the queue. The id of the transaction that creates the new node (its czxid) is larger than
// the token. So Pause writes the token into the content of the new node.
func (b *Backend) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	if err := oneline.Join(b.err, ctx.Err()); err != nil {
		return driver.NotApplied(err)
	}
	b.mu.Lock()
	_, before := b.paused.get(ended{as, g.Token})
	b.mu.Unlock()
	e := b.held(g)
	switch {
	case before:
		return nil
	case e == nil || e.shared: // a shared lock cannot be paused, because its other holders would keep it
		return driver.ErrNotHeld
	}
	n, err := b.read(ctx, e.session, e.path)
	container := b.container(e.key) + "/"
	path := container + protected + as.String() + strings.TrimPrefix(e.path, container+protected+e.nonce.String())
	if err == nil {
		n.Token = e.token
		_, err = askOnce(ctx, e.session, func(c *zk.Conn) ([]zk.MultiResponse, error) {
			return c.Multi(
				// The next waiter would treat the deletion of the node as a release. A watch fires only once, so
				// because of this write, the waiter's watch reports a change of the node and not its deletion.
				&zk.SetDataRequest{Path: e.path, Version: -1},
				&zk.DeleteRequest{Path: e.path, Version: -1},
				&zk.CreateRequest{Path: path, Data: []byte(n.value.String()), Acl: b.acl, Flags: zk.FlagPersistent},
			)
		})
	}
	if errors.Is(err, zk.ErrNoNode) { // the servers may have executed an earlier request whose reply was lost
		_, err = b.read(ctx, e.session, path)
	}
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return driver.ErrNotHeld
	case err != nil:
		return classify(err)
	}
	b.mu.Lock()
	b.paused.put(ended{as, g.Token}, struct{}{})
	b.mu.Unlock()
	e.forget()
	return nil
}
