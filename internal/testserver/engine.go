package testserver

import (
	"context"
	"fmt"
)

// engine is what differs from one kind of server to the next.
type engine interface {
	// provide finds the programs, and installs them when they are missing.
	provide(ctx context.Context, o Options) error
	// prepare fills a fresh folder with what the server needs before it can start.
	prepare(ctx context.Context, f *folder, o Options) error
	// command is the server's command line, to run in folder f.
	command(f *folder, port int, o Options) command
	// dsn is how tests reach it.
	dsn(port int) string
	// identify asks the server that answers at dsn who it is, and reports whether it is the one that runs in f.
	identify(ctx context.Context, dsn string, f *folder) (bool, error)
	// finish is done once, when the server answers.
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
