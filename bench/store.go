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

// store is one kind of server, or a file, with the locks that are measured in it.
type store struct {
	id, title    string
	product      string // the name of the product in the report
	nodes        int    // number of nodes of a cluster; 0 means one
	apart        bool   // each process uses only one server of the cluster, because the client would choose one at random
	locks        []lock
	many         []string                                        // names of the locks of which a process holds thousands
	modules      []string                                        // the modules of the client libraries
	sql          *dialect                                        // nil if the store is not a SQL database
	serve        func(context.Context, *world) ([]string, error) // returns the addresses of the servers
	serveCounted func(context.Context, *world) ([]string, error) // returns the addresses of other servers that count requests; nil if the servers of serve are used
	prepare      func(context.Context, []string) error           // creates the tables
	count        counter                                         // nil if no requests are counted
	counted      string                                          // what the meter counts, as text
	version      func(context.Context, []string) (string, error) // returns the version of the server
}

// dialect contains the differences between SQL databases, for the measurements of tables.
type dialect struct {
	driver  string
	backend func(*sql.DB, ...sqllock.Option) *sqllock.Backend
	guard   func(*sql.DB, ...fence.Option) *fence.Guard
	rows    string                                                               // the name of the lock that keeps lease rows, with the fastest client
	fresh   func(ctx context.Context, w *world, at, name string) (string, error) // creates an empty database
	name    string                                                               // an SQL expression for the name of a row
	touch   string                                                               // the statement that updates the row that its parameter names
	// statements that do maintenance now, which the server would otherwise do later, when it is idle
	tidy  []string
	bloat bloat
}

// meter reads a counter of a server, such as its number of commits.
type meter func(context.Context) (float64, error)

// counter creates a meter for the servers at the given addresses.
type counter func(context.Context, []string) (meter, func(), error)

// meter returns a meter for the lock, or nil if no requests are counted.
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

// variant reports whether l is a lock of rowlock that is a variant of another measured lock: the two differ only in the
// driver or in an option.
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

// stores returns all stores.
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

// number derives a number from a name, for locks that are identified by a number.
func number(name string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return int64(h.Sum64()>>33) + 1
}
