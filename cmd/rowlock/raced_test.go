//go:build unix && race

package main

// raced are the stores that run only without the race detector: the command uses the same code for another store.
var raced = []string{"default", "mariadb", "mariadb-getlock", "redis-cluster"}

// racedPages are the pages whose consoles run under the race detector. The others use the same code with the stores of
// TestScripts and TestSecuredStores.
var racedPages = []string{"README.md"}
