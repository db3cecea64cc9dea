//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// Width returns the number of columns of the terminal f, and zero if f is not a terminal.
func Width(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0
	case size.Col == 0: // the terminal does not report its size
		return 80
	}
	return int(size.Col)
}
