//go:build unix && race

package main

// raced: under the race detector stores that the command reaches by the same code as another are left to the run without it.
var raced = []string{"default", "mariadb", "mariadb-getlock", "redis-cluster"}
