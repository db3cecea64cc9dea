// Package testserver starts real database servers for tests. Each server is private, listens on a free loopback port,
// and has its data in a temporary folder. Server and folder are removed when the process that started the server
// ends. If that process was killed, the next launcher removes the folder.
//
// The package first looks for a server's program on this machine. A missing program is installed with apt where that is
// possible (Debian or Ubuntu, as root). MySQL, Valkey, and newer releases of PgBouncer and ZooKeeper are not in
// Debian's stable suite. The package unpacks these servers into the user's cache folder instead. etcd is built from its
// Go module, and is kept in the cache folder, too.
package testserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

// These are the engines that Start accepts.
const (
	Postgres     = "postgres"
	MySQL        = "mysql" // Oracle's MySQL, never MariaDB, whose program may also be called mysqld
	MariaDB      = "mariadb"
	PgBouncer    = "pgbouncer"     // a pooler in front of Options.Postgres
	NewPgBouncer = "pgbouncer_new" // PgBouncer 1.26 or newer, which tracks the prepared statements of each client
	Redis        = "redis"
	Valkey       = "valkey"
	Etcd         = "etcd"      // one node; StartEtcdCluster starts several
	ZooKeeper    = "zookeeper" // one server; StartZooKeeperEnsemble starts several

	Galera   = "galera"   // MariaDB as the only node of a Galera cluster
	Sentinel = "sentinel" // Redis Sentinel, which watches Options.Primary
)

// SentinelMaster is the name of the primary in Sentinel.
const SentinelMaster = "primary"

// Engines are the servers that testservers starts for all tests. Galera and Sentinel are not in this list,
// because the tests that need them start them. A server that needs another server comes after it in the list.
var Engines = []string{Postgres, PgBouncer, NewPgBouncer, MySQL, MariaDB, Redis, Valkey, Etcd, ZooKeeper}

const (
	installLimit = 10 * time.Minute
	prepareLimit = 2 * time.Minute
	readyLimit   = time.Minute
	stopLimit    = 5 * time.Second
	portAttempts = 5
)

// Options describe the server to start. The zero value is right for most tests.
type Options struct {
	// Durable makes a commit wait for the disk, as in production. Tests do not need Durable. Without it, a crash of the
	// server does not lose data, and only a crash of the machine does.
	Durable bool

	// Postgres is the DSN of the server behind PgBouncer. PgBouncer requires it.
	Postgres string

	// SessionPooling makes PgBouncer assign a server connection to a client until the client disconnects. By default,
	// PgBouncer assigns a server connection for one transaction.
	SessionPooling bool

	// Version is a release other than the default. For etcd see [EtcdVersion]. For Postgres it is one of
	// [PostgresVersions]. For Redis and MariaDB it is the Debian suite that contains the release. For all other
	// servers, only the default release is available.
	Version string

	// Config contains additional lines for the configuration of a ZooKeeper server. They override the default lines.
	Config string

	// CertFile and KeyFile make a single etcd use TLS. No other server uses them.
	CertFile, KeyFile string

	// Primary is the address, host:port, of another server. Sentinel requires it, and watches that server.
	// With Postgres, the new server copies that server and becomes its standby.
	Primary string

	// Disk puts the server's data on a separate file system of this many bytes, in memory. Server.Disk can fill
	// that file system. Disk needs Linux and root.
	Disk int64

	// Clock lets SetClock shift the server's wall clock. It works for Postgres, MySQL, MariaDB, Redis and Valkey, and
	// needs a C compiler, Linux and glibc.
	Clock bool

	// Cron preloads pg_cron into PostgreSQL, which runs jobs in the database postgres.
	Cron bool

	// Args are added to the server's command line, and override the default arguments. PgBouncer accepts none.
	Args []string

	// Logf reports steps that take long, such as an installation. By default nothing is reported.
	Logf func(format string, args ...any)
}

// Server is a running server. Kill, Shutdown and Restart must not be called concurrently.
type Server struct {
	Engine string
	DSN    string // the address for pgx, go-sql-driver/mysql or go-redis; for etcd a URL, for ZooKeeper host:port
	Addr   string // host:port
	PID    int    // the id of the server's main process
	Folder string // contains the data and the log; Stop removes it
	Disk   *Disk  // nil without Options.Disk

	// Stop sets these two.
	Used     time.Duration // the processor time of the server's processes since its last start
	Sessions int           // the sessions that a PostgreSQL server has opened

	folder  *folder
	process *process
	restart func(context.Context) (*process, error)
	stop    sync.Once
}

// Start starts a server and waits until it answers queries. The end of ctx cancels the start.
// It does not stop a server that has started.
func Start(ctx context.Context, name string, o Options) (*Server, error) {
	e, err := newEngine(name)
	if err != nil {
		return nil, err
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	if err := bounded(ctx, installLimit, func(ctx context.Context) error { return e.provide(ctx, o) }); err != nil {
		return nil, failure(name, "find or install", err, nil)
	}
	f, err := newFolder(name, o.Durable || o.Clock) // the clock library is in this folder, and a file system in memory may not allow executable files
	if err != nil {
		return nil, failure(name, "make a folder", err, nil)
	}
	if o.Disk > 0 {
		if f.disk, err = NewDisk(f.data(), o.Disk); err != nil {
			f.remove()
			return nil, failure(name, "make a disk", err, nil)
		}
	}
	if err := bounded(ctx, prepareLimit, func(ctx context.Context) error { return e.prepare(ctx, f, o) }); err != nil {
		err = failure(name, "initialise data", err, f)
		f.remove()
		return nil, err
	}
	s, err := launch(ctx, name, e, f, o)
	if err != nil {
		err = failure(name, "start", err, f)
		f.remove()
		return nil, err
	}
	return s, nil
}

// launch runs the server on a free port. On some systems a port cannot be reserved (see FreePort). There, another
// program may take the port before the server binds it. Then the server ends, or the other program answers, and launch
// tries another port.
func launch(ctx context.Context, name string, e engine, f *folder, o Options) (*Server, error) {
	var errs []error
	for range portAttempts {
		port, err := f.freePort()
		if err != nil {
			return nil, err
		}
		run := func(ctx context.Context) (*process, error) { return runUntilReady(ctx, e, f, port, o) }
		p, err := run(ctx)
		if err == nil {
			err = bounded(ctx, readyLimit, func(ctx context.Context) error { return e.finish(ctx, e.dsn(port)) })
			if err != nil {
				p.end()
				return nil, err
			}
			return &Server{
				Engine: name, DSN: e.dsn(port), Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
				PID: p.pid, Folder: f.path, Disk: f.disk, folder: f, process: p, restart: run,
			}, nil
		}
		errs = append(errs, err)
		if !errors.Is(err, errDied) && !errors.Is(err, errStranger) {
			break
		}
	}
	return nil, errs[len(errs)-1]
}

// Running reports whether the server is still running.
func (s *Server) Running() bool {
	select {
	case <-s.process.done:
		return false
	default:
		return true
	}
}

// Ended returns nil while the server runs. Afterwards it returns how the server ended, with the end of its log.
func (s *Server) Ended() error {
	if s.Running() {
		return nil
	}
	return fmt.Errorf("%s has ended: %w; the end of its log:\n%s", s.Engine, cmp.Or(s.process.err, errors.New("without an error")), tail(s.folder.log(), 12))
}

// Kill kills the server's processes, as a crash would. Restart can use the data again.
func (s *Server) Kill() { s.process.kill() }

// Shutdown ends the server as an operator does (pg_ctl stop -m fast, mysqladmin shutdown). The server disconnects its
// clients and writes unsaved data. The data remain for Restart.
func (s *Server) Shutdown() error {
	if err := s.process.shutdown(); err != nil {
		return failure(s.Engine, "shut down", err, s.folder)
	}
	return nil
}

// Restart starts the server again on the same data and port, after Kill or Shutdown. It also restarts a running
// server.
func (s *Server) Restart(ctx context.Context) error {
	s.process.end()
	p, err := s.restart(ctx)
	for end := time.Now().Add(stopLimit); errors.Is(err, errDied) && time.Now().Before(end) && ctx.Err() == nil; {
		time.Sleep(100 * time.Millisecond) // Postgres does not start while a process of the killed server still exists
		p, err = s.restart(ctx)
	}
	if err != nil {
		return failure(s.Engine, "restart", err, s.folder)
	}
	s.process, s.PID = p, p.pid
	return nil
}

// Stop ends the server and removes its data. It may be called any number of times.
func (s *Server) Stop() {
	s.stop.Do(func() {
		s.process.end()
		s.Used = s.process.used()
		if s.Engine == Postgres {
			log, _ := os.ReadFile(s.folder.log()) // without a log, no session is counted
			s.Sessions = bytes.Count(log, []byte("connection authorized"))
		}
		s.folder.remove()
	})
}

func bounded(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}
