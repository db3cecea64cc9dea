package fence

import (
	"strings"

	"github.com/rowlock/rowlock/internal/sqlerror"
)

// Codes of the triggers' own. On Postgres they are in a class that the standard leaves to
// implementations, on MySQL in the numbers kept for third parties. SQLite has one code for all
// triggers, so there it is the code and the text.
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
