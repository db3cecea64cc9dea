//go:build unix && race

package main

// racedPages lists the only pages whose consoles run under the race detector. TestScripts and TestSecuredStores run the
// code that the other pages use.
var racedPages = []string{"docs/sqlite.md"}
