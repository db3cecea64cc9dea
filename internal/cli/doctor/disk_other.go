//go:build !linux

package doctor

// networkFileSystem is unknown on this system.
func networkFileSystem(string) string { return "" }

// mayWriteTo is unknown on this system.
func mayWriteTo(string) error { return nil }
