package migrations

import (
	"fmt"
	"strings"
)

// Dialect is a family of databases. The zero value is none, and every function answers it with an
// error that says so.
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

// String is the dialect's name in lower case, which [Dialect.UnmarshalText] reads.
func (d Dialect) String() string {
	if name, ok := dialectNames[d]; ok {
		return name
	}
	return fmt.Sprintf("Dialect(%d)", uint8(d))
}

// MarshalText is the dialect's name. A dialect that is none of the constants is an error.
func (d Dialect) MarshalText() ([]byte, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	return []byte(d.String()), nil
}

// UnmarshalText reads a dialect's name, in any case. "mariadb" is MySQL, "postgresql" is Postgres.
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

// quote encloses identifiers.
func (d Dialect) quote() string {
	if d == MySQL {
		return "`"
	}
	return `"`
}
