package doctor

import "io/fs"

// owner returns false, because on Windows access control lists decide which users may open a file.
func owner(fs.FileInfo) (uid int, known bool) { return 0, false }
