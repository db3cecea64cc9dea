package bounded

import (
	"database/sql"
	"fmt"
)

// IsPgx reports whether the driver is pgx's for certain, which heeds every context. Of one that is wrapped only a connection tells, and
// whoever wraps it wants to see the statements.
func IsPgx(db *sql.DB) bool { return fmt.Sprintf("%T", db.Driver()) == "*stdlib.Driver" }
