//go:build unix && race

package main

// raced lists the stores that tests skip under the race detector. Another store that the tests use runs the same code.
var raced = []string{"default", "mariadb", "mariadb-getlock", "redis-cluster"}

// racedPages lists the only pages whose consoles run under the race detector. TestScripts and TestSecuredStores run the
// code that the other pages use.
var racedPages = []string{"README.md"}
