//go:build unix && !linux

package cli

// adoptOrphans does nothing here: orphans go to the process 1, which waits for them.
func adoptOrphans() {}
