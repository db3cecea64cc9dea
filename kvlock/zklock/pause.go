package zklock

import (
	"context"
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Pause puts a node that no session ends into the place of the node of g, with the same sequence number, and so at
// the head of the queue. The transaction that created the node is another then, so the node itself says the token.
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
	case e == nil || b.shared: // others who share it would hold on
		return driver.ErrNotHeld
	}
	n, err := b.read(ctx, e.session, e.path)
	container := b.container(e.key) + "/"
	path := container + protected + as.String() + strings.TrimPrefix(e.path, container+protected+e.nonce.String())
	if err == nil {
		n.Token = e.token
		_, err = askOnce(ctx, e.session, func(c *zk.Conn) ([]zk.MultiResponse, error) {
			return c.Multi(
				// Who is next takes a node that is deleted for a name that is free. A watch tells once, and of this first.
				&zk.SetDataRequest{Path: e.path, Version: -1},
				&zk.DeleteRequest{Path: e.path, Version: -1},
				&zk.CreateRequest{Path: path, Data: []byte(n.value.String()), Acl: b.acl, Flags: zk.FlagPersistent},
			)
		})
	}
	if errors.Is(err, zk.ErrNoNode) { // an earlier request may have had no answer, and may not have been seen before
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
