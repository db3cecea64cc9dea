package migrations

import (
	"fmt"
	"strings"
)

// Dialect is a family of databases. The zero value is invalid: every function returns an error for it.
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

// String returns the dialect's name in lower case, which [Dialect.UnmarshalText] reads.
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

// UnmarshalText reads a dialect's name, in any case. "mariadb" means MySQL, and "postgresql" means Postgres.
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

// quote returns the character that encloses identifiers.
func (d Dialect) quote() string {
	if d == MySQL {
		return "`"
	}
	return `"`
}
