package fence

// Option changes how a guard works.
type Option func(*options)

type options struct {
	table   string
	domain  string
	lazy    bool
	passing bool
}

// maxDomain is the largest length of a store's name, in bytes. It leaves room for the lock's name in the same column of
// the fence table.
const maxDomain = 64

// TokenDomain sets the name of the store that grants the tokens. By default, this name is the kind of the lease's
// backend, such as "sqllock/postgres". The store's name and the lock's name together are a token domain,
// and a guard compares only tokens of one domain. Set this option if two stores of one kind may grant the same lock,
// for example before and after a move to another server. The parameter name has at most 64 bytes of UTF-8 without
// spaces.
func TokenDomain(name string) Option {
	return func(o *options) { o.domain = name }
}

// Table names the lease table, as sqllock.Table does: "table" or "schema.table". The default is "rowlock_lease".
// The fence table has this name with the suffix "_fence", and the outcome table has it with the suffix "_outcome".
// Use the same name for the migrations.
func Table(name string) Option {
	return func(o *options) { o.table = name }
}

// Protected lets protected tables ([Guard.Protect]) recognise the checks of this guard on MySQL, MariaDB and SQLite.
// Each check and each [Guard.Uncheck] then needs one more statement. On Postgres, protected tables recognise checks
// without this option and without a further statement.
func Protected() Option {
	return func(o *options) { o.passing = true }
}
