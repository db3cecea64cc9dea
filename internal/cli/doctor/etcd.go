package doctor

import (
	"context"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// minEtcd is the oldest supported release; docs/etcd.md says why.
var minEtcd = [3]int{3, 6, 5}

func etcdChecks(client *clientv3.Client, prefix string) []check {
	return []check{
		{"servers", func(ctx context.Context, r *Report) error { return etcdServers(ctx, r, client) }},
		{"privileges", func(ctx context.Context, r *Report) error { return etcdPrivileges(ctx, r, client, prefix) }},
	}
}

// etcdServers checks the version, the leader and the alarms of each server.
func etcdServers(ctx context.Context, r *Report, client *clientv3.Client) error {
	told := map[string]bool{}
	for _, endpoint := range client.Endpoints() {
		bounded, cancel := context.WithTimeout(ctx, checkTimeout/2)
		status, err := client.Status(bounded, endpoint)
		cancel()
		name := endpoint[strings.LastIndexByte(endpoint, '/')+1:]
		if err != nil {
			r.warn("server", name+" does not report its status: "+terminal.Plain(err), "")
			continue
		}
		r.ok("connection", name+" answers: etcd "+status.Version)
		if olderThan(status.Version, minEtcd) {
			r.problem("version", "etcd "+status.Version+" of "+name+" is too old", "update it to etcd 3.6.5 or newer")
		}
		if status.Leader == 0 {
			r.problem("cluster", name+" has no leader, so no lock can be granted", "start a majority of the servers, and check the network between them")
		}
		if status.IsLearner {
			r.problem("cluster", name+" is a learner, which accepts no requests", "name voting members in --store")
		}
		for _, alarm := range status.Errors {
			if !told[alarm] {
				told[alarm] = true
				r.alarm(alarm)
			}
		}
	}
	return nil
}

// alarm adds a problem for an active alarm of etcd. The parameter text is etcd's own text for the alarm.
func (r *Report) alarm(text string) {
	do := "etcdctl alarm list"
	switch {
	case strings.Contains(text, "space exceeded"), strings.Contains(text, "NOSPACE"):
		do = "free space (etcdctl compact, etcdctl defrag), or raise --quota-backend-bytes; then: etcdctl alarm disarm"
	case strings.Contains(text, "corrupt"), strings.Contains(text, "CORRUPT"):
		do = "replace the corrupt member: its data differ from those of the others"
	}
	r.problem("alarm", "an alarm is active: "+text, do)
}

// etcdPrivileges checks whether this user may write the key of a lock. It sends a transaction that would write the key
// if the key had a negative version. No key has a negative version, so etcd checks the permission but never writes.
func etcdPrivileges(ctx context.Context, r *Report, client *clientv3.Client, prefix string) error {
	key := prefix + "//doctor/"
	_, err := client.Txn(ctx).If(clientv3.Compare(clientv3.Version(key), "<", 0)).Then(clientv3.OpPut(key, "")).Else(clientv3.OpGet(key)).Commit()
	switch {
	case err == nil:
		r.ok("privileges", "this user has all privileges that a lock needs")
	case strings.Contains(err.Error(), "permission denied"):
		r.problem("privileges", "this user may not read and write the keys "+prefix+"/…", "etcdctl role grant-permission ROLE --prefix=true readwrite "+prefix+"/")
	case r.has(problem, "alarm"): // while an alarm is active, etcd may return another error, which says nothing about privileges
	default:
		return err
	}
	return nil
}

// olderThan reports whether the parameter version is older than the parameter least. A version has three numbers. It
// returns false for a version that it cannot parse.
func olderThan(version string, least [3]int) bool {
	var v [3]int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2]); err != nil {
		return false
	}
	for i := range v {
		if v[i] != least[i] {
			return v[i] < least[i]
		}
	}
	return false
}
