package mysqlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
)

// Prune implements [driver.Operator]. It deletes the rows of locks that are free and whose last described grant is
// older than unused, in batches. It returns how many rows it has deleted, even if it also returns an error. It needs
// the privilege to delete from the table of the grants. Tokens do not depend on these rows.
func (b *Backend) Prune(ctx context.Context, unused time.Duration) (int, error) {
	if b.opts.NoToken {
		return 0, b.locks.Ready(ctx)
	}
	total := 0
	err := b.look(ctx, func(c *conn) error {
		for {
			r, err := c.ExecContext(ctx, b.sql["prune"], unused.Microseconds(), sqlbind.MySQLBytes(c.schema))
			if err != nil {
				return err
			}
			n, err := r.RowsAffected()
			total += int(n)
			if n == 0 || err != nil {
				return err
			}
		}
	})
	return total, b.locks.Explain(ctx, "prune", driver.Key{}, err)
}
