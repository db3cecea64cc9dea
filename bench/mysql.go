package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/mysqlock"
	"github.com/rowlock/rowlock/sqllock"
)

const waitingGetLock = "GET_LOCK, which waits"

// mysqlStore returns MySQL or MariaDB. The engines and locks of both stores have the same names.
func mysqlStore(engine, title string) store {
	return store{
		id: engine, title: title, product: title, serve: environment(engine), prepare: prepareMySQL,
		counted: "statements",
		count:   countQuestions,
		sql: &dialect{
			driver: "mysql", backend: sqllock.MySQL, guard: fence.MySQL, rows: "lease row",
			fresh: freshMySQL, name: "CONCAT('lock ', token + %d)",
			touch: "UPDATE rowlock_lease SET token = token + 1 WHERE namespace = '' AND name = ?",
			tidy:  []string{"ANALYZE TABLE rowlock_lease"},
			bloat: bloat{engine, mysqlSize[engine], ""},
		},
		many:    []string{"lease row", "GET_LOCK"},
		modules: []string{"github.com/go-sql-driver/mysql", "github.com/pressly/goose/v3"},
		version: func(ctx context.Context, at []string) (string, error) {
			return askSQL(ctx, "mysql", at[0], "SELECT substring_index(version(), '-', 1)")
		},
		locks: []lock{
			twoUpdates("mysql", "INSERT IGNORE INTO bench_bare VALUES (?, 0)", "UPDATE bench_bare SET n = n + 1 WHERE id = ?"),
			waitingStatements(waitingGetLock, "mysql",
				func(name string) string { return fmt.Sprintf("SELECT GET_LOCK('bench %d', 600)", number(name)) },
				func(name string) string { return fmt.Sprintf("SELECT RELEASE_LOCK('bench %d')", number(name)) }),
			ours("lease row", twoUpdatesSQL, bySQL("mysql", func(db *sql.DB) *sqllock.Backend { return sqllock.MySQL(db) })),
			ours("GET_LOCK", waitingGetLock, bySQL("mysql", func(db *sql.DB) *mysqlock.Backend { return mysqlock.New(db) })),
			ours("GET_LOCK without tokens", waitingGetLock,
				bySQL("mysql", func(db *sql.DB) *mysqlock.Backend { return mysqlock.New(db, mysqlock.NoToken()) })),
			gooseTable("mysql", newGooseMySQL),
		},
	}
}

// mysqlSize contains the statements for the size of a table's file, including the primary key.
var mysqlSize = map[string]string{
	testserver.MySQL:   "SELECT file_size, 0 FROM information_schema.innodb_tablespaces WHERE name LIKE '%/rowlock_lease'",
	testserver.MariaDB: "SELECT file_size, 0 FROM information_schema.innodb_sys_tablespaces WHERE name LIKE '%/rowlock_lease'",
}

// freshMySQL creates another database on the same server.
func freshMySQL(ctx context.Context, _ *world, at, name string) (string, error) {
	db, err := sql.Open("mysql", at)
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return "", err
		}
	}
	config, err := mysql.ParseDSN(at)
	if err != nil {
		return "", err
	}
	config.DBName = name
	return config.FormatDSN(), nil
}

// countQuestions returns a meter of the statements that clients have sent.
func countQuestions(_ context.Context, at []string) (meter, func(), error) {
	db, err := sql.Open("mysql", at[0])
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) (n float64, err error) {
		var name string
		err = db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &n)
		return n, err
	}, func() { _ = db.Close() }, nil
}

func prepareMySQL(ctx context.Context, at []string) error {
	if err := migrate(ctx, "mysql", at[0], migrations.MySQL); err != nil {
		return err
	}
	_ = prepareGoose(ctx, "mysql", at, newGooseMySQL) // ignores the error, because measuring the lock returns it again
	return nil
}
