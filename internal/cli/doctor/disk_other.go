//go:build !linux

package doctor

// networkFileSystem is not known here.
func networkFileSystem(string) string { return "" }

// mayWriteTo is not known here.
func mayWriteTo(string) error { return nil }
