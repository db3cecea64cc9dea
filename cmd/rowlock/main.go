// Command rowlock runs a command while it holds a lock in a database, and shows and repairs locks:
//
//	rowlock run nightly -- ./report.sh
//
// "rowlock --help" has the details.
package main

import (
	"context"
	"os"

	"github.com/rowlock/rowlock/internal/cli"
	"github.com/rowlock/rowlock/internal/cli/system"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], system.Stdio{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ(), Exits: true,
	}))
}
