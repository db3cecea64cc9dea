package sqllock

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// usage is how many connections a pool has lent, or is opening, and how many it may have; zero: any number.
type usage struct{ inUse, most int }

func usageOfPgx(pool *pgxpool.Pool) usage {
	s := pool.Stat()
	return usage{int(s.TotalConns() - s.IdleConns()), int(s.MaxConns())}
}

func usageOfSQL(db *sql.DB) usage {
	s := db.Stats()
	return usage{s.InUse, s.MaxOpenConnections}
}

func (u usage) full() bool { return u.most > 0 && u.inUse >= u.most }

// unlent says why a pool lent no connection before ctx ended.
func (u usage) unlent(ctx context.Context, err error) error {
	if ctx.Err() == nil || !u.full() {
		return err
	}
	return fmt.Errorf("no free connection in the pool (%d of %d in use): %w", u.inUse, u.most, err)
}
