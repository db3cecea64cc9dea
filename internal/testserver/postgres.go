package testserver

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5"
)

type postgres struct {
	bin   string
	cache string // the cache folder of a release that is not installed on this machine
	env   []string
}

func (e *postgres) provide(ctx context.Context, o Options) (err error) {
	if o.Version != "" {
		e.cache, err = providePostgres(ctx, o)
		return err
	}
	look := func() string {
		complete := func(path string) bool { return executable(filepath.Join(filepath.Dir(path), "initdb")) }
		return find("postgres", []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"}, complete)
	}
	path, err := provideWithApt(ctx, o, "PostgreSQL", "postgresql", look)
	e.bin = filepath.Dir(path)
	if err == nil && o.Cron {
		err = e.provideCron(ctx, o)
	}
	return err
}

// provideCron makes sure that pg_cron is installed for the release of PostgreSQL that e starts.
func (e *postgres) provideCron(ctx context.Context, o Options) error {
	release := filepath.Base(filepath.Dir(e.bin))
	library := filepath.Join(filepath.Dir(e.bin), "lib", "pg_cron.so")
	_, err := provideWithApt(ctx, o, "pg_cron", "postgresql-"+release+"-cron", func() string {
		if _, err := os.Stat(library); err != nil {
			return ""
		}
		return library
	})
	return err
}

func (e *postgres) prepare(ctx context.Context, f *folder, o Options) error {
	if o.Clock {
		if err := prepareClock(ctx, f); err != nil {
			return err
		}
	}
	as, err := unprivileged()
	if err != nil {
		return err
	}
	if e.cache != "" { // the account that runs the server cannot read the cache
		root := filepath.Join(f.path, "root")
		if err := os.CopyFS(root, os.DirFS(e.cache)); err != nil {
			return err
		}
		e.bin, e.env = filepath.Join(root, "bin"), []string{"LD_LIBRARY_PATH=" + filepath.Join(root, "lib")}
	}
	if err := f.give(as); err != nil {
		return err
	}
	if o.Primary != "" {
		return e.follow(ctx, f, as, o.Primary)
	}
	// Each server runs initdb, although copying initialised data would be half a second faster.
	// Only initdb gives each server a different system identifier.
	initdb := []string{filepath.Join(e.bin, "initdb"), "-D", f.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"}
	return runStep(ctx, command{argv: initdb, env: e.env, as: as}, f, nil)
}

// follow copies the data of the server primary, so that the new server becomes its standby.
func (e *postgres) follow(ctx context.Context, f *folder, as *account, primary string) error {
	host, port, err := net.SplitHostPort(primary)
	if err != nil {
		return fmt.Errorf("Options.Primary %q: %w", primary, err)
	}
	backup := []string{filepath.Join(e.bin, "pg_basebackup"), "-h", host, "-p", port, "-U", "postgres", "-D", f.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync"}
	return runStep(ctx, command{argv: backup, env: e.env, as: as}, f, nil)
}

func (e *postgres) command(f *folder, port int, o Options) command {
	as, _ := unprivileged() // returns no error: prepare has made the same call before
	argv := []string{
		filepath.Join(e.bin, "postgres"), "-D", f.data(), "-p", fmt.Sprint(port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "max_connections=400", "-c", "shared_buffers=64MB", "-c", "max_prepared_transactions=20",
		"-c", "log_connections=on", // Server.Sessions counts them
	}
	if !o.Durable {
		argv = append(argv, "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_wal_size=256MB")
	}
	if o.Cron {
		argv = append(argv, "-c", "shared_preload_libraries=pg_cron", "-c", "cron.database_name=postgres", "-c", "cron.use_background_workers=on")
	}
	// SIGQUIT is the immediate shutdown: there is no last checkpoint, but the shared memory is freed. SIGINT is the
	// fast shutdown, which does not wait for clients to leave.
	return command{argv: append(argv, o.Args...), env: append(clockOf(f, o), e.env...), as: as, quit: syscall.SIGQUIT, stop: syscall.SIGINT}
}

func (e *postgres) dsn(port int) string { return postgresDSN(port) }

func postgresDSN(port int) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
}

func (e *postgres) identify(ctx context.Context, dsn string, f *folder) (bool, error) {
	folder, err := queryPostgres(ctx, dsn, "SHOW data_directory")
	return sameFile(folder, f.data()), err
}

func (e *postgres) finish(context.Context, string) error { return nil }

// queryPostgres returns the text that query selects. It uses the simple query protocol, which PgBouncer supports too.
func queryPostgres(ctx context.Context, dsn, query string) (string, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return "", err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	var answer string
	err = conn.QueryRow(ctx, query).Scan(&answer)
	return answer, err
}
