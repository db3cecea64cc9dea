package migrations

import (
	"fmt"
	"strings"
)

// Dialect names a family of databases. The zero value is invalid: every function of this package returns an error for
// the zero value.
type Dialect uint8

const (
	// Postgres is PostgreSQL 12 or newer.
	Postgres Dialect = iota + 1
	// MySQL is MySQL 8.0 or newer, and MariaDB 10.6 or newer.
	MySQL
	// SQLite is SQLite 3.35 or newer.
	SQLite
)

var dialectNames = map[Dialect]string{Postgres: "postgres", MySQL: "mysql", SQLite: "sqlite"}

// String returns the dialect's name in lower case. [Dialect.UnmarshalText] accepts this name.
func (d Dialect) String() string {
	if name, ok := dialectNames[d]; ok {
		return name
	}
	return fmt.Sprintf("Dialect(%d)", uint8(d))
}

// MarshalText returns the dialect's name. It returns an error if d is not one of the constants.
func (d Dialect) MarshalText() ([]byte, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	return []byte(d.String()), nil
}

// UnmarshalText parses a dialect's name and ignores its case. It also accepts "mariadb" for MySQL, "postgresql" for
// Postgres and "sqlite3" for SQLite.
func (d *Dialect) UnmarshalText(text []byte) error {
	switch name := strings.ToLower(string(text)); name {
	case "postgres", "postgresql":
		*d = Postgres
	case "mysql", "mariadb":
		*d = MySQL
	case "sqlite", "sqlite3":
		*d = SQLite
	default:
		return fmt.Errorf("dialect %q: want postgres, mysql or sqlite", name)
	}
	return nil
}

func (d Dialect) check() error {
	if _, ok := dialectNames[d]; !ok {
		return fmt.Errorf("migrations: %v is no dialect: want Postgres, MySQL or SQLite", d)
	}
	return nil
}

// quote returns the character that quotes identifiers in SQL.
func (d Dialect) quote() string {
	if d == MySQL {
		return "`"
	}
	return `"`
}
