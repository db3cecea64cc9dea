package bounded

import (
	"database/sql"
	"fmt"
)

// IsPgx reports whether db certainly uses pgx's driver, which heeds every context. It is false for a driver that wraps
// pgx. Only a connection could tell those apart, and the wrapper must see each statement.
func IsPgx(db *sql.DB) bool { return fmt.Sprintf("%T", db.Driver()) == "*stdlib.Driver" }
