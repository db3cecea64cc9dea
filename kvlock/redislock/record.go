package redislock

// record is the key of what a server keeps beside its locks. Its field top is the largest token of the locks that it has forgotten: a
// name that is new to the server gets a larger one. A node of a Redlock has more in it. No lock has this key: theirs have a colon behind the
// namespace.
func (o options) record() string { return o.prefix + "node" }

// recorded are the keys of a script for one lock that reads or writes the record. On a Cluster each slot has a record of its own, because
// a script sees the keys of one slot only.
func (b *Backend) recorded(key string) []string {
	record := b.options.record()
	if at := slot(key); b.isCluster() && slot(record) != at { // equal if the prefix has a hash tag
		record += "{" + tags()[at] + "}"
	}
	return []string{key, record}
}
