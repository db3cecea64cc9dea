//go:build !linux

package cli

// networkFileSystem is not known here.
func networkFileSystem(string) string { return "" }

// mayWriteTo is not known here.
func mayWriteTo(string) error { return nil }
