package store

import (
	"context"
	"database/sql"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/sqlhandle"
	"github.com/rowlock/rowlock/mysqlock"
	"github.com/rowlock/rowlock/sqllock"
)

func (s *Store) openPostgres(table sqllock.Option) error {
	cfg, err := pgxpool.ParseConfig(s.At.PostgresURL)
	if err != nil {
		return exit.Usagef("--store: %s", withoutURL(err, s.At))
	}
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = system.Program
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		s.Unbounded = []string{"connect_timeout=5"}
	}
	cfg.ConnConfig.ConnectTimeout = ConnectTimeout
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // without named prepared statements: behind a pooler, a statement's name may refer to the statement of another client
	cfg.MaxConns = min(cfg.MaxConns, storeConns)
	cfg.MinConns, cfg.MinIdleConns = 0, 0
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return exit.Failf(exit.Internal, "open %s: %w", s.At.Shown, err)
	}
	s.DB = stdlib.OpenDBFromPool(pool)
	s.Leases = sqllock.Pgx(pool, table)
	if s.At.Session != "" {
		s.Backend = advisory.New(pool, advisory.Table(s.Table.String()))
	}
	s.closers = append(s.closers, func() { _ = s.DB.Close() }, pool.Close)
	return nil
}

// withoutURL returns the text of pgx's error without the address and passwords, which pgx may quote.
func withoutURL(err error, at Location) string {
	text := strings.ReplaceAll(err.Error(), at.PostgresURL, at.Shown)
	if i := strings.LastIndex(text, "`: "); i >= 0 {
		text = text[i+len("`: "):]
	}
	return text + " (" + at.Shown + ")"
}

func (s *Store) openMySQL(table sqllock.Option) error {
	cfg := s.At.MySQL
	if cfg.Timeout == 0 {
		s.Unbounded = []string{"timeout=5s"}
	}
	if cfg.ReadTimeout == 0 {
		s.Unbounded = append(s.Unbounded, "readTimeout=30s")
	}
	cfg.Logger = &mysql.NopLogger{} // the command itself reports every error once
	if cfg.ConnectionAttributes == "" {
		cfg.ConnectionAttributes = "program_name:" + system.Program
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return exit.Usagef("--store: %w (%s)", err, s.At.Shown)
	}
	s.DB = sql.OpenDB(sqlhandle.Limit(connector, ConnectTimeout)) // the driver's timeout does not include the server's greeting, so Limit adds a timeout for the whole connect
	s.DB.SetMaxOpenConns(storeConns)
	s.DB.SetMaxIdleConns(storeConns)
	s.Leases = sqllock.MySQL(s.DB, table)
	if s.At.Session != "" {
		s.Backend = mysqlock.New(s.DB, mysqlock.Table(s.Table.String()))
	}
	s.closers = append(s.closers, func() { _ = s.DB.Close() })
	return nil
}
