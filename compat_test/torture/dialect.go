//go:build linux

package main

import (
	"context"
	"database/sql"
	"embed"
	"strings"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/migrations"
)

// dialect contains what differs between the databases that store the data.
type dialect struct {
	driver    string
	migration migrations.Dialect
	folder    string // folder of the database's statements
	guard     func(*sql.DB, ...fence.Option) *fence.Guard
	levels    []sql.IsolationLevel
}

var sqlLevels = []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}

var (
	postgresData = dialect{"pgx", migrations.Postgres, "postgres", fence.Postgres, sqlLevels}
	mysqlData    = dialect{"mysql", migrations.MySQL, "mysql", fence.MySQL, sqlLevels}
	sqliteData   = dialect{"sqlite", migrations.SQLite, "sqlite", fence.SQLite, []sql.IsolationLevel{sql.LevelDefault}}
)

//go:embed sql
var statements embed.FS

func (d dialect) open(dsn string) (*data, error) {
	db, err := sql.Open(d.driver, dsn)
	return &data{db, d}, err
}

// prepare creates the tables of the locks and of the fence, the ledger and, if wanted, the audit.
func (d *data) prepare(ctx context.Context, audited bool) error {
	if err := migrations.Up(ctx, d.DB, d.migration); err != nil {
		return err
	}
	files := []string{"ledger.sql"}
	if audited {
		files = append(files, "audit.sql")
	}
	for _, file := range files {
		text, err := statements.ReadFile("sql/" + d.folder + "/" + file)
		if err != nil {
			return err
		}
		for _, statement := range strings.Split(string(text), "\n-- next\n") {
			if _, err := d.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
	}
	return nil
}

// bind writes the parameters of a statement in the form that the driver expects.
func (d dialect) bind(statement string) string {
	if d.migration == migrations.Postgres {
		return sqlbind.Dollars(statement)
	}
	return statement
}
