// Package testserver starts real database servers for tests: private ones, on a free loopback port, with data in a
// temporary folder, removed when the process that started them ends, in whatever way.
//
// A server's program is looked for on this machine first. What is missing is installed with apt where that is possible
// (Debian or Ubuntu, as root). MySQL, Valkey and newer releases of PgBouncer and ZooKeeper are not in this stable suite
// of Debian: they are unpacked into the user's cache folder instead. etcd is built from its Go module, and kept there, too.
package testserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"
)

// The engines that Start knows.
const (
	Postgres     = "postgres"
	MySQL        = "mysql" // never MariaDB, which calls itself mysqld too
	MariaDB      = "mariadb"
	PgBouncer    = "pgbouncer"     // in front of Options.Postgres
	NewPgBouncer = "pgbouncer_new" // the same, 1.26 or newer, which keeps prepared statements apart
	Redis        = "redis"
	Valkey       = "valkey"
	Etcd         = "etcd"      // one node; StartEtcdCluster makes more
	ZooKeeper    = "zookeeper" // one node; StartZooKeeperEnsemble makes more

	Galera   = "galera"   // MariaDB as the only node of a cluster
	Sentinel = "sentinel" // of Redis, watching Options.Primary
)

// SentinelMaster is the name by which Sentinel knows its primary.
const SentinelMaster = "primary"

// Engines are the servers that a test may find running. Galera and Sentinel are not among them, because single tests start
// those. In this order, each server finds what it needs already running.
var Engines = []string{Postgres, PgBouncer, NewPgBouncer, MySQL, MariaDB, Redis, Valkey, Etcd, ZooKeeper}

const (
	installLimit = 10 * time.Minute
	prepareLimit = 2 * time.Minute
	readyLimit   = time.Minute
	stopLimit    = 5 * time.Second
	portAttempts = 5
)

// Options say what kind of server is wanted. The zero value is right for tests.
type Options struct {
	// Durable makes a commit wait for the disk, as in production. Tests do without: a crash of the server loses nothing
	// even so, only a crash of the machine does.
	Durable bool

	// Postgres is the DSN of the server behind PgBouncer, which needs it.
	Postgres string

	// SessionPooling makes PgBouncer keep a server connection for each client until it leaves; else for each transaction.
	SessionPooling bool

	// Version is a release other than the usual one. For etcd see [EtcdVersion]. For Postgres it is one of [PostgresVersions]. For Redis
	// and MariaDB it is the suite of Debian that has it. The other servers have one release only.
	Version string

	// Config is what the configuration of a ZooKeeper server has besides: lines that count instead of its own.
	Config string

	// CertFile and KeyFile are what a single etcd speaks TLS with, and nothing else.
	CertFile, KeyFile string

	// Primary is the address, host:port, of the server that Sentinel watches, which it needs; and of the one that a Postgres, if it is
	// set, copies and follows as its standby.
	Primary string

	// Disk gives the server's data a file system of their own with so many bytes, in memory, which Server.Disk fills. Linux only, as root.
	Disk int64

	// Clock lets SetClock shift the server's wall clock. Postgres, MySQL, MariaDB, Redis and
	// Valkey only; it takes a C compiler, Linux and glibc.
	Clock bool

	// Args are added to the server's command line; they win over ours. PgBouncer takes none.
	Args []string

	// Logf reports steps that take long, such as an installation. By default nothing is reported.
	Logf func(format string, args ...any)
}

// Server is a running server. Kill, Shutdown and Restart are for one goroutine at a time.
type Server struct {
	Engine string
	DSN    string // as the clients want it: pgx, go-sql-driver/mysql, go-redis, the URL of a client port of etcd, host:port of ZooKeeper
	Addr   string // host:port
	PID    int    // of its main process
	Folder string // its data and its log, removed by Stop
	Disk   *Disk  // nil without Options.Disk

	folder  *folder
	process *process
	restart func(context.Context) (*process, error)
	stop    sync.Once
}

// Start starts a server and waits until it answers queries. ctx bounds the start only, not the server's life.
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
	f, err := newFolder(name, o.Durable || o.Clock) // programs are run from it, which a file system in memory may forbid
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

// launch runs the server on a free port. Where the port cannot be kept (see FreePort) another program may take it before ours has
// it: then ours dies, or somebody else answers, and another port is tried.
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

// Running says whether the server has not ended by itself.
func (s *Server) Running() bool {
	select {
	case <-s.process.done:
		return false
	default:
		return true
	}
}

// Ended is nil while the server runs, and says otherwise how it ended, with the end of its log.
func (s *Server) Ended() error {
	if s.Running() {
		return nil
	}
	return fmt.Errorf("%s has ended: %w; the end of its log:\n%s", s.Engine, cmp.Or(s.process.err, errors.New("without an error")), tail(s.folder.log(), 12))
}

// Kill ends the server as a crash would. Its data stay for Restart.
func (s *Server) Kill() { s.process.kill() }

// Shutdown ends the server as its operator does (pg_ctl stop -m fast, mysqladmin shutdown): it sends its clients away,
// and writes what it has to. Its data stay for Restart.
func (s *Server) Shutdown() error {
	if err := s.process.shutdown(); err != nil {
		return failure(s.Engine, "shut down", err, s.folder)
	}
	return nil
}

// Restart starts the server again, on the same data and the same port, after Kill or Shutdown or while it runs.
func (s *Server) Restart(ctx context.Context) error {
	s.process.end()
	p, err := s.restart(ctx)
	for end := time.Now().Add(stopLimit); errors.Is(err, errDied) && time.Now().Before(end) && ctx.Err() == nil; {
		time.Sleep(100 * time.Millisecond) // Postgres refuses while a backend of the one that was killed is still leaving
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
		s.folder.remove()
	})
}

func bounded(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}
