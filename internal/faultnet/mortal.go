package faultnet

import (
	"context"
	"testing"

	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/locktest"
)

// Mortal is a harness whose server can be killed and started again. Of the optional interfaces it has locktest.Restarter
// only.
type Mortal struct {
	locktest.Harness
	Server *testserver.Server
}

// Restart kills the server, and starts it again with its data.
func (m Mortal) Restart(ctx context.Context) error {
	m.Server.Kill()
	return m.Server.Restart(ctx)
}

// Survives runs the cases of the conformance suite about a restart of the store: a crash of the server ends no lease,
// and lets no token fall.
func Survives(t *testing.T, h locktest.Harness, server *testserver.Server) {
	t.Helper()
	ran := 0
	err := locktest.CheckEach(t.Context(), Mortal{h, server}, func(locktest.Result) { ran++ }, "restart-keeps-tokens", "restart-keeps-leases")
	if err != nil || ran != 2 {
		t.Errorf("%d cases ran: %v", ran, err)
	}
}
