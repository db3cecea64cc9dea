package doctor

import "io/fs"

// owner is unknown: on Windows access lists decide who may open a file.
func owner(fs.FileInfo) (uid int, known bool) { return 0, false }
