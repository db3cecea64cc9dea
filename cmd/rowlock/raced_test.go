//go:build unix && race

package main

// raced are the stores that are tested only without the race detector, because the command uses the same code for another store.
var raced = []string{"default", "mariadb", "mariadb-getlock", "redis-cluster"}

// racedPages are the pages whose consoles run under the race detector. The consoles of other pages use the same code with the
// stores of TestScripts and TestSecuredStores.
var racedPages = []string{"README.md"}
