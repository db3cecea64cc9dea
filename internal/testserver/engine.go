package testserver

import (
	"context"
	"fmt"
)

// engine has the methods that differ between kinds of servers.
type engine interface {
	// provide finds the programs, and installs missing programs.
	provide(ctx context.Context, o Options) error
	// prepare creates, in the empty folder f, the files that the server needs before it can start.
	prepare(ctx context.Context, f *folder, o Options) error
	// command returns the command line of a server that runs in folder f.
	command(f *folder, port int, o Options) command
	// dsn returns the DSN of a server on this port.
	dsn(port int) string
	// identify reports whether the server that answers at dsn is the server that was started in f.
	// Another program may use the port.
	identify(ctx context.Context, dsn string, f *folder) (bool, error)
	// finish is called once, after the server has answered for the first time.
	finish(ctx context.Context, dsn string) error
}

func newEngine(name string) (engine, error) {
	switch name {
	case Postgres:
		return &postgres{}, nil
	case PgBouncer:
		return &pgbouncer{}, nil
	case NewPgBouncer:
		return &pgbouncer{newest: true}, nil
	case MySQL:
		return &mysqld{}, nil
	case MariaDB:
		return &mariadbd{}, nil
	case Galera:
		return &mariadbd{cluster: true}, nil
	case Etcd:
		return &etcd{}, nil
	case ZooKeeper:
		return &zookeeper{}, nil
	case Redis, Valkey:
		return &redis{engine: name}, nil
	case Sentinel:
		return &sentinel{redis{engine: Redis}}, nil
	}
	return nil, fmt.Errorf("testserver: no engine %q; there are %v", name, Engines)
}
