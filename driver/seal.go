package driver

// GrantSealer is implemented by a backend that keeps fence marks beside its locks, and whose Acquire
// honours [Request.Seal]. The engine asks for it where the guard's marks are at the same place.
type GrantSealer interface {
	// SealsAt is where the backend raises marks; the zero Place if it cannot.
	SealsAt() Place
}

// Place is where locks and the marks beside them are kept. Two places are one if they are equal.
type Place struct {
	DB    any    // the handle of the database, such as a *sql.DB or a *pgxpool.Pool
	Table string // the lease table's name as it was given
}
