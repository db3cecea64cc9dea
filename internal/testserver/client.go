package testserver

import "context"

// Psql returns the path of psql, the console of PostgreSQL. If it is missing, apt is available and this process is
// root, Psql installs it. For the error of a machine that cannot have it, [Missing] returns true.
func Psql(ctx context.Context, o Options) (string, error) {
	look := func() string { return find("psql", []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"}, nil) }
	return provideWithApt(ctx, o, "psql", "postgresql-client", look)
}
