package sqllock

// Option configures a backend.
type Option func(*options)

type options struct {
	table string
}

// Table sets the name of the lease table: "table" or "schema.table", each part of letters, digits and underscores. The
// default is "rowlock_lease". The table of the token floor has the same name with the suffix "_meta". Give migrations
// the same name.
func Table(name string) Option {
	return func(o *options) { o.table = name }
}
