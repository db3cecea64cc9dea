//go:build unix && !race

package main

var raced []string // no store is left out: see raced_test.go

var racedPages []string // all pages are run: see raced_test.go
