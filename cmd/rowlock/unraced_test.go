//go:build unix && !race

package main

var raced []string // none: see raced_test.go

var racedPages []string // all pages: see raced_test.go
