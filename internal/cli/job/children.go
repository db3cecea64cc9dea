package job

import (
	"fmt"
	"path/filepath"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inherit"
)

// Children answers the command and its descendants, which inherit the lease of the run. See package inherit.
type Children struct {
	lease  inherit.Lease
	server *inherit.Server
}

// ServeChildren opens a socket for the processes that inherit the lease. The caller must call Close.
func ServeChildren(lease *rowlock.Lease) (*Children, error) {
	c := &Children{lease: inherit.Lease{
		Key:   driver.Key{Namespace: lease.Namespace(), Name: lease.Name()},
		Token: lease.Token(), Nonce: lease.Nonce(), Shared: lease.Shared(), Holder: lease.Holder(), Domain: lease.Backend(),
	}}
	var err error
	if c.server, err = inherit.Serve(lease, &c.lease); err != nil {
		return nil, fmt.Errorf("open a socket for the processes that inherit the lease: %w", err)
	}
	return c, nil
}

// Close ends the connections, and removes the socket. It does nothing if c is nil.
func (c *Children) Close() {
	if c != nil {
		c.server.Close()
	}
}

// folder returns the absolute path of the folder with the socket. It is empty if c is nil.
func (c *Children) folder() string {
	if c == nil {
		return ""
	}
	folder, _ := filepath.Abs(filepath.Dir(c.lease.Keeper))
	return folder
}
