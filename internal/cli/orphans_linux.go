package cli

import "golang.org/x/sys/unix"

// adoptOrphans makes this process the parent of those whose own parent ended (prctl(2),
// PR_SET_CHILD_SUBREAPER, Linux 3.4). Otherwise they go to the process 1, and where that waits for
// nobody, as in many containers, a group would never be seen to end.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }
