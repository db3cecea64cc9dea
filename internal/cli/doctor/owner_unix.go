//go:build unix

package doctor

import (
	"io/fs"
	"syscall"
)

// owner returns the id of the user that owns a file.
func owner(info fs.FileInfo) (uid int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}
