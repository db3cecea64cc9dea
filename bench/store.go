package main

import (
	"context"
	"database/sql"
	"hash/fnv"
	"slices"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/sqllock"
)

// store is one kind of server, or a file, and the locks in it that are measured.
type store struct {
	id, title    string
	product      string // whose version is reported
	nodes        int    // of a cluster; 0: one
	apart        bool   // its clients stay with one server of a cluster, which they choose by chance
	locks        []lock
	many         []string                                        // the locks of ours of which thousands are held
	modules      []string                                        // the libraries that speak to it
	sql          *dialect                                        // nil if it is no SQL database
	serve        func(context.Context, *world) ([]string, error) // its addresses
	serveCounted func(context.Context, *world) ([]string, error) // where it can only be counted elsewhere
	prepare      func(context.Context, []string) error           // makes its tables
	count        counter                                         // nil if nothing is counted
	counted      string                                          // what the meter counts
	version      func(context.Context, []string) (string, error) // of the server
}

// dialect is what differs from one SQL database to the next where a table is more than a matter of locks.
type dialect struct {
	driver  string
	backend func(*sql.DB, ...sqllock.Option) *sqllock.Backend
	guard   func(*sql.DB, ...fence.Option) *fence.Guard
	rows    string                                                               // the lock that is a row, by the fastest client
	fresh   func(ctx context.Context, w *world, at, name string) (string, error) // makes a database of its own
	name    string                                                               // of a row: the expression
	touch   string                                                               // an update of a row, whose name is the parameter
	tidy    []string                                                             // what a server does by itself when it has time
	bloat   bloat
}

// meter reads a count that a server keeps, such as its commits.
type meter func(context.Context) (float64, error)

// counter makes a meter of the servers at these addresses.
type counter func(context.Context, []string) (meter, func(), error)

// meter is nil where nothing is counted.
func (s store) meter(ctx context.Context, at []string, l lock) (meter, func(), error) {
	count := s.count
	if l.count != nil {
		count = l.count
	}
	if count == nil {
		return nil, func() {}, nil
	}
	return count(ctx, at)
}

// variant is one of ours that differs from another by its driver or an option.
func (s store) variant(l lock) bool {
	return l.kind == report.Rowlock && !slices.Contains(s.many, l.name)
}

func (s store) lock(name string) (lock, bool) {
	for _, l := range s.locks {
		if l.name == name {
			return l, true
		}
	}
	return lock{}, false
}

// stores are all that there are.
func stores() []store {
	return []store{
		postgresStore(), mysqlStore("mysql", "MySQL"), mysqlStore("mariadb", "MariaDB"), sqliteStore(),
		redisStore(), durableRedisStore(), redlockStore("redlock", "Redlock, three servers in memory", 3), redlockStore("redlock5", "Redlock, five servers in memory", 5), etcdStore(1), etcdStore(3), zooKeeperStore(1), zooKeeperStore(3),
	}
}

func storeOf(id string) (store, bool) {
	for _, s := range stores() {
		if s.id == id {
			return s, true
		}
	}
	return store{}, false
}

// number is a name for what is named by a number.
func number(name string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return int64(h.Sum64()>>33) + 1
}
