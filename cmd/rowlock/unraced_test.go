//go:build unix && !race

package main

var racedPages []string // without the race detector the consoles of all pages run: see raced_test.go
