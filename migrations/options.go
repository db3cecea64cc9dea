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

// Table sets the name of the lease table, as sqllock.Table does: "table" or "schema.table". The default is
// "rowlock_lease". The schema must exist. The other tables have the same name with a suffix such as "_meta", "_fence"
// or "_version". A name that ends with one of these suffixes is refused.
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
