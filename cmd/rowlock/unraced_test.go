//go:build unix && !race

package main

var raced []string // without the race detector no store is skipped: see raced_test.go

var racedPages []string // without the race detector the consoles of all pages run: see raced_test.go
