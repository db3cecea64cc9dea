// Package inherit lets a process use a lease that another process of the same machine holds. The holder is the parent,
// for example "rowlock run". The other process is a child: the parent's command, or a process that the command started.
//
// The parent is to the child what a store is to a holder. The parent passes the text of a [Lease] in the environment
// variable [Variable], and listens on a Unix socket ([Serve]). The child sends requests to the socket. The parent
// renews the lease in the store after it has received a request, and then answers for how long the child may trust the
// lease. The child counts this time from just before it sent the request. So no two clocks are compared, and the
// child's trust ends no later than the parent's. One renewal answers all requests that arrived before it was sent.
//
// Each request and each answer is one line of JSON:
//
//	{"id":1,"nonce":"6f2c…"}        the child asks for a renewal; id is different for each request of a connection
//	{"id":1,"trust_us":21000000}    the parent renewed the lease: trust it for this time, in microseconds
//	{"id":1,"error":"…"}            the outcome of the renewal is unknown: the child may ask again
//
// The parent closes the connection when its lease ends. The operating system closes it when the parent dies. In both
// cases the child's lease has ended. A child that closes its connection ends only its own trust.
package inherit
