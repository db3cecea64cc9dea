package fence

// Option changes how a guard works.
type Option func(*options)

type options struct {
	table   string
	domain  string
	lazy    bool
	passing bool
}

// maxDomain is in bytes. It leaves room for the lock's name in the same column of the fence table.
const maxDomain = 64

// TokenDomain names the store of the tokens, instead of the kind that the lease's backend reports. Only tokens of one
// domain are compared. A domain is the pair of this name and the lock's name. Set it if two stores of one kind may grant the
// same lock, for example before and after a move to another server. name has at most 64 bytes of UTF-8 without spaces.
func TokenDomain(name string) Option {
	return func(o *options) { o.domain = name }
}

// Table names the lease table, as sqllock.Table does: "table" or "schema.table". The default is "rowlock_lease". The
// fence table is named after it with the suffix "_fence", and the outcome table with "_outcome". Use the same name for
// the migrations.
func Table(name string) Option {
	return func(o *options) { o.table = name }
}

// Protected lets protected tables ([Guard.Protect]) recognise the checks of this guard on MySQL, MariaDB and SQLite.
// Each check and each [Guard.Uncheck] then needs one more statement. On Postgres they recognise checks without this
// option, at no cost.
func Protected() Option {
	return func(o *options) { o.passing = true }
}
