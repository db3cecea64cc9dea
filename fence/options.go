package fence

// Option changes how a guard is made.
type Option func(*options)

type options struct {
	table string
}

// Table names the lease table whose fence table is used, as sqllock.Table does: "table" or
// "schema.table". The default is "rowlock_lease". The fence table has the same name with "_fence"
// behind it. Migrations must be given the same name.
func Table(name string) Option {
	return func(o *options) { o.table = name }
}
