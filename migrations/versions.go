package migrations

import (
	"context"
	"embed"
	"path"
	"strings"
	"time"

	"github.com/pressly/goose/v3/database"

	"github.com/rowlock/rowlock/internal/sqltable"
)

//go:embed version
var versionFiles embed.FS

// versions implements goose's database.Store: it accesses the version table, in which goose records the applied
// migrations. The table has goose's format. The statements are rowlock's own, because goose does not quote the table's
// name. goose also cannot read the table's times from MySQL without the driver's option parseTime.
type versions struct{ series }

var _ database.Store = versions{}

// statement returns the SQL of version/<dialect>/<verb>.sql with the names of v's tables.
func (v versions) statement(verb string) string {
	text, _ := versionFiles.ReadFile(path.Join("version", v.dialect.String(), verb+".sql"))
	return v.rewrite(strings.ReplaceAll(string(text), "rowlock_lease_version", v.versionTable()))
}

// count runs a statement and returns the number that the statement selects.
func (v versions) count(ctx context.Context, db database.DBTxConn, verb string, args ...any) (int, error) {
	n := 0
	err := db.QueryRowContext(ctx, v.statement(verb), args...).Scan(&n)
	return n, err
}

func (v versions) exec(ctx context.Context, db database.DBTxConn, verb string, args ...any) error {
	_, err := db.ExecContext(ctx, v.statement(verb), args...)
	return err
}

// applied describes a migration that was applied.
type applied struct {
	version int64
	at      time.Time
}

// list returns the applied migrations in reverse order. The list includes version 0, which goose inserts when it
// creates the table.
func (v versions) list(ctx context.Context, db database.DBTxConn) ([]applied, error) {
	rows, err := db.QueryContext(ctx, v.statement("list"))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []applied
	for rows.Next() {
		var version, seconds int64
		if err := rows.Scan(&version, &seconds); err != nil {
			return nil, err
		}
		all = append(all, applied{version: version, at: time.Unix(seconds, 0).UTC()})
	}
	return all, rows.Err()
}

// ensure creates the version table if it is missing, and inserts version 0, which goose requires.
func (v versions) ensure(ctx context.Context, db database.DBTxConn) error {
	exists, err := v.tableExists(ctx, db)
	if err != nil {
		return err
	}
	if !exists {
		if err := v.CreateVersionTable(ctx, db); err != nil {
			return err
		}
	}
	all, err := v.list(ctx, db)
	if err != nil || len(all) > 0 {
		return err
	}
	return v.exec(ctx, db, "insert", 0)
}

// Tablename returns the version table's name without quotes. goose only checks that the name is not empty.
func (v versions) Tablename() string { return v.table.Rewrite(v.versionTable(), "") }

// TableExists implements an optional method of goose's store interface.
func (v versions) TableExists(ctx context.Context, db database.DBTxConn) (bool, error) {
	return v.exists(ctx, db, "exists", v.table.Name()+strings.TrimPrefix(v.versionTable(), sqltable.Default))
}

// exists runs the statement of the file version/<dialect>/<verb>.sql, and reports whether it found the table called
// name. On Postgres the statement itself contains the name of the table.
func (v versions) exists(ctx context.Context, db database.DBTxConn, verb, name string) (bool, error) {
	var args []any
	if v.dialect != Postgres {
		args = []any{v.table.Schema(), name}
	}
	n, err := v.count(ctx, db, verb, args...)
	return n > 0, err
}

// tableExists reports whether the version table exists. If the lease table, or the view of the functions, exists
// without the version table, tableExists returns [ErrMadeElsewhere]. It checks the version table last, because another
// process may be migrating now: Up creates the version table first.
func (v versions) tableExists(ctx context.Context, db database.DBTxConn) (bool, error) {
	made, err := v.exists(ctx, db, v.madeVerb(), v.table.Name())
	if err != nil {
		return false, err
	}
	exists, err := v.TableExists(ctx, db)
	if err == nil && made && !exists {
		err = ErrMadeElsewhere
	}
	return exists, err
}

func (v versions) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	return v.exec(ctx, db, "create")
}

func (v versions) Insert(ctx context.Context, db database.DBTxConn, r database.InsertRequest) error {
	return v.exec(ctx, db, "insert", r.Version)
}

func (v versions) Delete(ctx context.Context, db database.DBTxConn, version int64) error {
	return v.exec(ctx, db, "delete", version)
}

func (v versions) GetMigration(ctx context.Context, db database.DBTxConn, version int64) (*database.GetMigrationResult, error) {
	all, err := v.list(ctx, db)
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		if a.version == version {
			return &database.GetMigrationResult{Timestamp: a.at, IsApplied: true}, nil
		}
	}
	return nil, database.ErrVersionNotFound
}

func (v versions) GetLatestVersion(ctx context.Context, db database.DBTxConn) (int64, error) {
	all, err := v.list(ctx, db)
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, database.ErrVersionNotFound
	}
	latest := int64(0)
	for _, a := range all {
		latest = max(latest, a.version)
	}
	return latest, nil
}

func (v versions) ListMigrations(ctx context.Context, db database.DBTxConn) ([]*database.ListMigrationsResult, error) {
	all, err := v.list(ctx, db)
	if err != nil {
		return nil, err
	}
	results := make([]*database.ListMigrationsResult, len(all))
	for i, a := range all {
		results[i] = &database.ListMigrationsResult{Version: a.version, IsApplied: true}
	}
	return results, nil
}
