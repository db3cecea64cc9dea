package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
)

// Usage is how many connections a pool has lent or is opening, and how many it may have. Zero Most means no limit.
type Usage struct{ InUse, Most int }

// UsageOf returns the usage of a pool of database/sql.
func UsageOf(db *sql.DB) Usage {
	s := db.Stats()
	return Usage{s.InUse, s.MaxOpenConnections}
}

func (u Usage) full() bool { return u.Most > 0 && u.InUse >= u.Most }

// Unlent returns an error that says why a pool lent no connection before ctx ended.
func (u Usage) Unlent(ctx context.Context, err error) error {
	if ctx.Err() == nil || !u.full() {
		return err
	}
	return fmt.Errorf("no free connection in the pool (%d of %d in use): %w", u.InUse, u.Most, err)
}
