package testserver

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// etcd is a cluster of one node. It has no peers, so its peer port can be any port.
type etcd struct {
	path string
	own  []tls.Certificate // the server's certificate; if empty, the server does not use TLS
}

func (e *etcd) provide(ctx context.Context, o Options) error {
	if o.CertFile != "" {
		own, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return err
		}
		e.own = []tls.Certificate{own}
	}
	var err error
	e.path, err = provideEtcd(ctx, "etcd", "go.etcd.io/etcd/server/v3", o)
	return err
}

func (e *etcd) prepare(_ context.Context, f *folder, _ Options) error {
	return os.Mkdir(f.data(), 0o700)
}

func (e *etcd) command(f *folder, port int, o Options) command {
	const peer = "http://127.0.0.1:0"
	argv := append(etcdArgs(e.path, f, e.dsn(port), o),
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster="+etcdName(f)+"="+peer,
		// etcd derives the shortest TTL of a lease from the election timeout. With these values it is one second.
		"--heartbeat-interval=10", "--election-timeout=100")
	if o.CertFile != "" {
		argv = append(argv, "--cert-file="+o.CertFile, "--key-file="+o.KeyFile)
	}
	return command{argv: append(argv, o.Args...)}
}

func (e *etcd) dsn(port int) string {
	if e.own != nil {
		return strings.Replace(etcdDSN(port), "http", "https", 1)
	}
	return etcdDSN(port)
}

func (e *etcd) finish(context.Context, string) error { return nil }

func etcdDSN(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }

// etcdName returns a node's name, which is the name of its folder. No other server has the same name.
func etcdName(f *folder) string { return filepath.Base(f.path) }

// etcdArgs returns the arguments that all nodes have in common.
func etcdArgs(path string, f *folder, dsn string, o Options) []string {
	argv := []string{
		path, "--name=" + etcdName(f), "--data-dir=" + f.data(), "--log-level=warn", "--initial-cluster-state=new",
		"--listen-client-urls=" + dsn, "--advertise-client-urls=" + dsn,
	}
	if !o.Durable {
		argv = append(argv, "--unsafe-no-fsync")
	}
	return argv
}

// identify checks that the node at dsn has the name that the launcher gave it. The node answers this request only when
// there is a leader.
func (e *etcd) identify(ctx context.Context, dsn string, f *folder) (bool, error) {
	var self struct {
		Header struct {
			MemberID string `json:"member_id"`
		} `json:"header"`
		Members []struct{ ID, Name string } `json:"members"`
	}
	if err := askEtcd(ctx, e.own, dsn+"/v3/cluster/member/list", `{"linearizable":true}`, &self); err != nil {
		return false, err
	}
	for _, m := range self.Members {
		if m.ID == self.Header.MemberID && m.Name == etcdName(f) {
			return true, nil
		}
	}
	return false, nil
}

// askEtcd sends one request to the JSON gateway. askEtcd does not verify the server's certificate, because the reply
// shows which server answered. The parameter own contains the client certificates, which the server may require.
func askEtcd(ctx context.Context, own []tls.Certificate, url, body string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	reply, err := (&http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: own}}).RoundTrip(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, reply.Status)
	}
	return json.NewDecoder(reply.Body).Decode(answer)
}
