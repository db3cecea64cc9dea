package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
)

// Usage describes how full a connection pool is. InUse counts the connections that are lent or being opened. Most is
// the pool's limit, or 0 if there is no limit.
type Usage struct{ InUse, Most int }

// UsageOf returns the usage of a pool of database/sql.
func UsageOf(db *sql.DB) Usage {
	s := db.Stats()
	return Usage{s.InUse, s.MaxOpenConnections}
}

func (u Usage) full() bool { return u.Most > 0 && u.InUse >= u.Most }

// Unlent adds the usage of the pool to err if ctx has ended while all connections of the pool were in use.
func (u Usage) Unlent(ctx context.Context, err error) error {
	if ctx.Err() == nil || !u.full() {
		return err
	}
	return fmt.Errorf("no free connection in the pool (%d of %d in use): %w", u.InUse, u.Most, err)
}
