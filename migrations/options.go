package migrations

import (
	"fmt"

	"github.com/rowlock/rowlock/internal/sqltable"
)

// Option configures a migration.
type Option func(*options)

type options struct {
	table string
}

// Table sets the name of the lease table, in the form "table" or "schema.table", like sqllock.Table.
// The default is "rowlock_lease". The schema must exist. The names of the other tables are this name with a suffix such
// as "_meta", "_fence" or "_version". The functions of this package return an error if the name itself ends with such a
// suffix.
func Table(name string) Option {
	return func(o *options) { o.table = name }
}

func tableOf(d Dialect, opts []Option) (sqltable.Table, error) {
	if err := d.check(); err != nil {
		return sqltable.Table{}, err
	}
	o := options{table: sqltable.Default}
	for _, opt := range opts {
		opt(&o)
	}
	table, err := sqltable.Parse(o.table)
	if err != nil {
		return sqltable.Table{}, fmt.Errorf("migrations: %w", err)
	}
	return table, nil
}
