//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// Width is how many columns the terminal has that f is; zero if it is none.
func Width(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0
	case size.Col == 0: // one that does not say
		return 80
	}
	return int(size.Col)
}
