package testserver

import "context"

// Psql returns the path of psql, the console of PostgreSQL. If it is missing, apt is available and this process is
// root, Psql installs it. For the error of a machine that cannot have it, [Missing] returns true.
func Psql(ctx context.Context, o Options) (string, error) {
	look := func() string { return find("psql", []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"}, nil) }
	return provideWithApt(ctx, o, "psql", "postgresql-client", look)
}

// MySQLConsole returns the path of the console of MySQL and MariaDB, either mysql or mariadb. Each of them works with the
// servers of both. If it is missing, it is installed as [Psql] is.
func MySQLConsole(ctx context.Context, o Options) (string, error) {
	look := func() string {
		if path := find("mariadb", nil, nil); path != "" {
			return path
		}
		return find("mysql", nil, nil)
	}
	return provideWithApt(ctx, o, "mariadb", "mariadb-client-core", look)
}
