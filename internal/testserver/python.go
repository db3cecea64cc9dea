package testserver

import (
	"context"
	"os/exec"
)

// pythons are the interpreters that see the packages of the distribution. A python3 in PATH may not see them.
var pythons = []string{"/usr/bin/python3", "python3"}

// Python returns the path of a Python 3 that can import psycopg 3 and PyMySQL. If there is none, it installs the Debian packages
// where that is possible.
func Python(ctx context.Context, o Options) (string, error) {
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	look := func() string {
		for _, name := range pythons {
			path, err := exec.LookPath(name)
			if err == nil && exec.CommandContext(ctx, path, "-c", "import psycopg, pymysql").Run() == nil {
				return path
			}
		}
		return ""
	}
	return provideWithApt(ctx, o, "Python 3 with psycopg 3 and PyMySQL", "python3-psycopg python3-pymysql", look)
}
