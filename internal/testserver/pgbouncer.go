package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// pgbouncer is a pooler in front of a Postgres server. Clients use the names of that server's databases, and need no
// password. PgBouncer always logs in as the user of Options.Postgres, whatever user the client names.
type pgbouncer struct {
	newest   bool // true if the program comes from Debian sid and not from this machine
	unpacked *unpacked
	argv     []string // the command line
	behind   string   // the identity of the Postgres server behind the pooler
}

func (e *pgbouncer) provide(ctx context.Context, o Options) error {
	if o.Postgres == "" {
		return errors.New("PgBouncer needs a Postgres server behind it")
	}
	if e.newest {
		u, err := unpack(ctx, o, "sid", "pgbouncer")
		if err != nil {
			return &missing{"newer PgBouncer", "use a Debian with its package tools", err}
		}
		e.unpacked = u
		return nil
	}
	path, err := provideWithApt(ctx, o, "PgBouncer", "pgbouncer", func() string { return find("pgbouncer", nil, nil) })
	e.argv = []string{path}
	return err
}

const whoIsBehind = "SELECT system_identifier::text || ' ' || pg_postmaster_start_time() FROM pg_control_system()"

func (e *pgbouncer) prepare(ctx context.Context, f *folder, o Options) error {
	server, err := pgx.ParseConfig(o.Postgres)
	if err != nil {
		return err
	}
	if e.behind, err = queryPostgres(ctx, o.Postgres, whoIsBehind); err != nil {
		return fmt.Errorf("the Postgres server behind PgBouncer: %w", err)
	}
	target := fmt.Sprintf("host=%s port=%d user=%s", quoteIni(server.Host), server.Port, quoteIni(server.User))
	if server.Password != "" {
		target += " password=" + quoteIni(server.Password)
	}
	mode := "transaction"
	if o.SessionPooling {
		mode = "session"
	}
	if err := os.WriteFile(e.ini(f), []byte(fmt.Sprintf(pgbouncerIni, target, mode)), 0o600); err != nil {
		return err
	}
	as, err := unprivileged()
	if err == nil && e.newest {
		e.argv, err = e.reachable(f, as)
	}
	if err != nil {
		return err
	}
	return f.give(as)
}

// reachable returns the command line of the unpacked program. It copies the program's files out of the cache,
// which the account that runs the server cannot read.
func (e *pgbouncer) reachable(f *folder, as *account) ([]string, error) {
	u := e.unpacked
	if as != nil {
		u = &unpacked{filepath.Join(f.path, "root")}
		if err := os.CopyFS(filepath.Join(u.root, "usr"), os.DirFS(filepath.Join(e.unpacked.root, "usr"))); err != nil {
			return nil, err
		}
	}
	return u.argv("usr/sbin/pgbouncer"), nil
}

// The port is in the file port.ini, which the method command writes, because the port is not known before.
const pgbouncerIni = `[databases]
* = %s

[pgbouncer]
%%include port.ini
listen_addr = 127.0.0.1
unix_socket_dir =
auth_type = any
pool_mode = %s
default_pool_size = 40
max_client_conn = 1000
server_idle_timeout = 10
server_check_delay = 0
server_login_retry = 1
ignore_startup_parameters = extra_float_digits
logfile =
pidfile =
`

func (e *pgbouncer) ini(f *folder) string { return filepath.Join(f.path, "pgbouncer.ini") }

func (e *pgbouncer) command(f *folder, port int, _ Options) command {
	as, _ := unprivileged() // returns no error: prepare has made the same call before
	// PgBouncer has no option for the port. If this file cannot be written, PgBouncer logs that and ends.
	_ = os.WriteFile(filepath.Join(f.path, "port.ini"), []byte(fmt.Sprintf("listen_port = %d\n", port)), 0o644)
	return command{argv: append(slices.Clone(e.argv), e.ini(f)), as: as}
}

func (e *pgbouncer) dsn(port int) string { return postgresDSN(port) }

// identify checks that the program at dsn is the pooler that this process has started. It asks for the identity of the
// Postgres server behind the pooler. No other pooler has this server behind it.
func (e *pgbouncer) identify(ctx context.Context, dsn string, _ *folder) (bool, error) {
	behind, err := queryPostgres(ctx, dsn, whoIsBehind)
	return behind == e.behind, err
}

func (e *pgbouncer) finish(context.Context, string) error { return nil }

// quoteIni quotes a value of a connection string in PgBouncer's file.
func quoteIni(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
