package fence

import (
	"strings"

	"github.com/rowlock/rowlock/internal/sqlerror"
)

// Error codes that the triggers raise. On Postgres they are in an SQLSTATE class that the SQL standard leaves to
// implementations. On MySQL they are in the range for third parties. SQLite has one code for all triggers,
// so the text has to match as well.
const (
	postgresUnchecked = "RLF01"
	postgresStale     = "RLF02"
	mysqlUnchecked    = 50451
	mysqlStale        = 50452
	sqliteTrigger     = 1811
	sqliteUnchecked   = " refused: the transaction has passed no check"
	sqliteStale       = " refused: the lease that the transaction has checked is not the one that sealed last"
)

func (p *postgres) refusal(err error) error {
	switch sqlerror.State(err) {
	case postgresUnchecked:
		return ErrUnchecked
	case postgresStale:
		return ErrStale
	default:
		return nil
	}
}

func (m *mysql) refusal(err error) error {
	switch sqlerror.MySQL(err) {
	case mysqlUnchecked:
		return ErrUnchecked
	case mysqlStale:
		return ErrStale
	default:
		return nil
	}
}

func (s *sqlite) refusal(err error) error {
	switch {
	case sqlerror.SQLite(err) != sqliteTrigger:
		return nil
	case strings.Contains(err.Error(), sqliteUnchecked):
		return ErrUnchecked
	case strings.Contains(err.Error(), sqliteStale):
		return ErrStale
	default:
		return nil
	}
}
