package sqllock

// Option configures a backend.
type Option func(*options)

type options struct {
	table string
}

// Table sets the name of the lease table: "table" or "schema.table", each part of letters, digits and underscores.
// The default is "rowlock_lease". The other tables have the same name with a suffix, such as "_meta". Pass the same
// name to package migrations.
func Table(name string) Option {
	return func(o *options) { o.table = name }
}
