// Package stdio runs the conformance suite of package locktest against a program in any language. The command
// "rowlock locktest" uses it. The page docs/protocol.md describes the messages.
//
// The package starts a program for each client of a case, and uses the program again if no fault has disturbed it. It
// writes one request as a line of JSON to the program's stdin, and reads one reply as a line of JSON from its stdout.
// Replies may come in any order.
// Between each program and the store is a proxy, which loses replies, delays bytes and cuts the connection.
// The program finds the address of its proxy in the environment variable ROWLOCK_STORE.
//
// Besides the cases of package locktest, [Check] runs cases for the leases of the program itself: their deadline,
// their renewal, and what remains after a request without a reply.
package stdio
