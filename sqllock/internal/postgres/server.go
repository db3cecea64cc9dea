package postgres

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlserver"
)

// adopt records the server as the one that grants, which happens once for each start of a server and each table. It asks for the version
// first, so that a server which only imitates PostgreSQL is never adopted and grants nothing.
func (p *Backend) adopt(ctx context.Context) error {
	if err := p.supported(ctx); err != nil {
		return err
	}
	return p.Exec(ctx, "adopt_epoch")
}

// supported is a permanent error if the server only imitates PostgreSQL.
func (p *Backend) supported(ctx context.Context) error {
	var version string
	if _, err := p.one(ctx, "version", nil, &version); err != nil {
		return driver.NotApplied(fmt.Errorf("ask for the server's version: %w", err))
	}
	if err := sqlserver.Supported(version); err != nil {
		return driver.Permanent(err)
	}
	return nil
}

// named replaces the error of a statement that the server does not understand if it only imitates PostgreSQL.
func (p *Backend) named(ctx context.Context, err error) error {
	switch state := sqlerror.State(err); {
	case len(state) != 5 || state[:2] != "42" && state[:2] != "0A": // syntax error or access rule violation, feature not supported
		return err
	}
	if unfit := p.supported(ctx); driver.IsPermanent(unfit) {
		return unfit
	}
	return err
}
