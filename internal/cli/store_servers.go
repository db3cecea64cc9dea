package cli

import (
	"context"
	"database/sql"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/internal/sqlhandle"
	"github.com/rowlock/rowlock/mysqlock"
	"github.com/rowlock/rowlock/sqllock"
)

// program is the name under which the command's sessions are listed by a server.
const program = "rowlock"

func (s *store) openPostgres(table sqllock.Option) error {
	cfg, err := pgxpool.ParseConfig(s.at.postURL)
	if err != nil {
		return usage("--store: %s", withoutURL(err, s.at))
	}
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = program
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		s.unbounded = []string{"connect_timeout=5"}
	}
	cfg.ConnConfig.ConnectTimeout = connectTimeout
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // a statement that is prepared by name may be another's behind a pooler
	cfg.MaxConns = min(cfg.MaxConns, storeConns)
	cfg.MinConns, cfg.MinIdleConns = 0, 0
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return fail(exitInternal, "open %s: %w", s.at.shown, err)
	}
	s.db = stdlib.OpenDBFromPool(pool)
	s.leases = sqllock.Pgx(pool, table)
	if s.at.session != "" {
		s.backend = advisory.New(pool, advisory.Table(s.table.String()))
	}
	s.closers = append(s.closers, func() { _ = s.db.Close() }, pool.Close)
	return nil
}

// withoutURL is what pgx finds wrong, without the address and the passwords that it quotes.
func withoutURL(err error, at location) string {
	text := strings.ReplaceAll(err.Error(), at.postURL, at.shown)
	if i := strings.LastIndex(text, "`: "); i >= 0 {
		text = text[i+len("`: "):]
	}
	return text + " (" + at.shown + ")"
}

func (s *store) openMySQL(table sqllock.Option) error {
	cfg := s.at.mysql
	if cfg.Timeout == 0 {
		s.unbounded = []string{"timeout=5s"}
	}
	if cfg.ReadTimeout == 0 {
		s.unbounded = append(s.unbounded, "readTimeout=30s")
	}
	cfg.Logger = &mysql.NopLogger{} // every error is reported once, by us
	if cfg.ConnectionAttributes == "" {
		cfg.ConnectionAttributes = "program_name:" + program
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return usage("--store: %w (%s)", err, s.at.shown)
	}
	s.db = sql.OpenDB(sqlhandle.Limit(connector, connectTimeout)) // the driver's time-out ends before the server's greeting
	s.db.SetMaxOpenConns(storeConns)
	s.db.SetMaxIdleConns(storeConns)
	s.leases = sqllock.MySQL(s.db, table)
	if s.at.session != "" {
		s.backend = mysqlock.New(s.db, mysqlock.Table(s.table.String()))
	}
	s.closers = append(s.closers, func() { _ = s.db.Close() })
	return nil
}
