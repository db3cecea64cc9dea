// Command rowlock runs a command while holding a lock in a database, and shows and mends locks:
//
//	rowlock run nightly -- ./report.sh
//
// "rowlock --help" says the rest.
package main

import (
	"context"
	"os"

	"github.com/rowlock/rowlock/internal/cli"
	"github.com/rowlock/rowlock/internal/cli/system"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], system.Stdio{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ(),
	}))
}
