package testserver

import (
	"context"
	"fmt"
)

// engine is the part that differs between kinds of servers.
type engine interface {
	// provide finds the programs, and installs missing programs.
	provide(ctx context.Context, o Options) error
	// prepare fills an empty folder with what the server needs before it can start.
	prepare(ctx context.Context, f *folder, o Options) error
	// command returns the command line of a server that runs in folder f.
	command(f *folder, port int, o Options) command
	// dsn returns the address for tests.
	dsn(port int) string
	// identify reports whether the server that answers at dsn is the one that runs in f.
	identify(ctx context.Context, dsn string, f *folder) (bool, error)
	// finish runs once, after the server has answered.
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
