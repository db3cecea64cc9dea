package sqllock

// Option changes how a backend is made.
type Option func(*options)

type options struct {
	table string
}

// Table names the lease table: "table" or "schema.table", each part of letters, digits and
// underscores. The default is "rowlock_lease". The table of the token floor has the same name
// with "_meta" behind it. Migrations must be given the same name.
func Table(name string) Option {
	return func(o *options) { o.table = name }
}
