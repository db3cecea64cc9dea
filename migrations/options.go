package migrations

import (
	"fmt"

	"github.com/rowlock/rowlock/internal/sqltable"
)

// Option configures a migration.
type Option func(*options)

type options struct {
	table     string
	functions bool
}

// Table sets the name of the lease table, in the form "table" or "schema.table", like sqllock.Table.
// The default is "rowlock_lease". The schema must exist. The names of the other tables are this name with a suffix such
// as "_meta", "_fence" or "_version". The functions of this package return an error if the name itself ends with such a
// suffix.
func Table(name string) Option {
	return func(o *options) { o.table = name }
}

// Functions selects the migrations of the functions by which a SQL session uses the locks without a Go program: see
// docs/locks-from-sql.md. On MySQL they are procedures. There are none for SQLite. Without this option, this package migrates the tables.
// The functions can be left out: they have numbers from 101, and a version table of their own. Create the tables first.
func Functions() Option {
	return func(o *options) { o.functions = true }
}

func seriesOf(d Dialect, opts []Option) (series, error) {
	if err := d.check(); err != nil {
		return series{}, err
	}
	o := options{table: sqltable.Default}
	for _, opt := range opts {
		opt(&o)
	}
	table, err := sqltable.Parse(o.table)
	if err != nil {
		return series{}, fmt.Errorf("migrations: %w", err)
	}
	if o.functions && d == SQLite {
		return series{}, fmt.Errorf("migrations: there are no functions for %v: they exist for postgres and mysql only", d)
	}
	return series{dialect: d, table: table, functions: o.functions}, nil
}
