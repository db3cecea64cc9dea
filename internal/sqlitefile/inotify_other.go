//go:build !linux

package sqlitefile

func open(path string) eye { return newStatEye(path) }
