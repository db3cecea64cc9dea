package bounded

import (
	"database/sql"
	"fmt"
)

// IsPgx reports whether db uses pgx's driver directly. pgx's driver respects the context of every call. IsPgx returns
// false for a driver that wraps pgx, because only an open connection would show which driver it wraps.
func IsPgx(db *sql.DB) bool { return fmt.Sprintf("%T", db.Driver()) == "*stdlib.Driver" }
