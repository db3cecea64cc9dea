package fence

// Option changes how a guard is made.
type Option func(*options)

type options struct {
	table   string
	domain  string
	lazy    bool
	passing bool
}

// maxDomain leaves room for the lock's name beside it in the fence table.
const maxDomain = 64

// TokenDomain names the store that the tokens come from, in place of the kind that the lease's backend
// names. Tokens are compared within one domain only, which is this name and the lock's: give it
// where two stores of one kind may grant the same lock, such as before and after a move from one
// server to another. At most 64 bytes of UTF-8, without spaces.
func TokenDomain(name string) Option {
	return func(o *options) { o.domain = name }
}

// Table names the lease table whose fence table is used, as sqllock.Table does: "table" or
// "schema.table". The default is "rowlock_lease". The fence table has the same name with "_fence"
// behind it, the outcome table "_outcome". Migrations must be given the same name.
func Table(name string) Option {
	return func(o *options) { o.table = name }
}

// Protected lets protected tables ([Guard.Protect]) notice the checks of this guard, on MySQL, MariaDB
// and SQLite: each check is one more statement, and so is the [Guard.Uncheck] that follows it. On
// Postgres they notice without it, and at no cost.
func Protected() Option {
	return func(o *options) { o.passing = true }
}
