//go:build unix && !race

package main

var raced []string // none: see raced_test.go
