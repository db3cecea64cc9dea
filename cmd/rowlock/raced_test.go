//go:build unix && race

package main

// raced: under the race detector stores that the command reaches by the same code as another are left to the run without it.
var raced = []string{"default", "mariadb", "mariadb-getlock", "redis-cluster"}

// racedPages are the pages whose consoles run under it: the others are the same code with the stores of TestScripts and TestSecuredStores.
var racedPages = []string{"README.md"}
