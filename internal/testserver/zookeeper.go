package testserver

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// zookeeper is one server of ZooKeeper, alone or in an ensemble.
type zookeeper struct {
	java string
	jars []string
}

// javaFolder is where Debian's packages install jars. Each jar in this folder names the other jars that it needs.
const javaFolder = "/usr/share/java"

func (e *zookeeper) provide(ctx context.Context, o Options) error {
	java, err := provideWithApt(ctx, o, "Java", "default-jre-headless", func() string { return find("java", nil, nil) })
	if err != nil {
		return err
	}
	// The package "zookeeper" would also install a Java with graphics. The package libzookeeper-java contains
	// the same server without that.
	jar, err := provideWithApt(ctx, o, "ZooKeeper", "libzookeeper-java", func() string { return firstMatch(filepath.Join(javaFolder, "zookeeper.jar")) })
	if err != nil {
		return err
	}
	e.java, e.jars = java, classPath(filepath.Dir(jar))
	return nil
}

// provideNewer uses the release in Debian's unstable suite: its jars, and the dependencies of the older release.
func (e *zookeeper) provideNewer(ctx context.Context, o Options) error {
	if err := e.provide(ctx, o); err != nil {
		return err
	}
	const jars = "usr/share/java"
	complete := func(root string) bool { return firstMatch(filepath.Join(root, jars, "zookeeper.jar")) != "" }
	root, err := unpackTo(ctx, o, "sid", "libzookeeper-java", complete, "alone")
	if err != nil {
		return &missing{"ZooKeeper 3.9", "check that apt can reach its mirror", err}
	}
	e.jars = classPath(filepath.Join(root, jars))
	return nil
}

// classPath returns Java's class path. The jar jute, which encodes messages, must be first. The server's jar refers to
// an older release of jute by an absolute path, and Java uses the jar that it finds first. The last jar is needed for
// the server's log.
func classPath(folder string) []string {
	return []string{filepath.Join(folder, "zookeeper-jute.jar"), filepath.Join(folder, "zookeeper.jar"), filepath.Join(javaFolder, "slf4j-simple.jar")}
}

func (e *zookeeper) prepare(_ context.Context, f *folder, _ Options) error {
	return os.Mkdir(f.data(), 0o755)
}

func (e *zookeeper) command(f *folder, port int, o Options) command {
	return e.commandWith(f, port, o, "")
}

// commandWith returns the command line of a server. It first writes the server's only configuration file,
// which ends with the lines in ensemble. If the file cannot be written, the server logs that and ends.
func (e *zookeeper) commandWith(f *folder, port int, o Options, ensemble string) command {
	config := filepath.Join(f.path, "zoo.cfg")
	_ = os.WriteFile(config, []byte(fmt.Sprintf(zookeeperConfig, f.data(), port)+ensemble+o.Config), 0o644)
	sync := "yes"
	if !o.Durable {
		sync = "no"
	}
	argv := []string{
		e.java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms32m", "-Xmx128m", "-Xshare:auto", "-XX:-UsePerfData",
		"-Djava.net.preferIPv4Stack=true", "-Dzookeeper.forceSync=" + sync,
		"-Dzookeeper.serverCnxnFactory=org.apache.zookeeper.server.NIOServerCnxnFactory",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true",
	}
	argv = append(argv, o.Args...)
	return command{argv: append(argv, "-cp", strings.Join(e.jars, ":"), "org.apache.zookeeper.server.quorum.QuorumPeerMain", config)}
}

// A tick is the unit of the server's time. The shortest session is two ticks. The leader drops a follower that sends
// nothing for syncLimit ticks, so syncLimit must be longer than the delays of a slow machine. A new leader waits for
// its followers for at most initLimit ticks. If a follower connects through a proxy before the leader listens, that
// connection is lost, and the leader waits the whole time.
const zookeeperConfig = `dataDir=%s
clientPort=%d
clientPortAddress=127.0.0.1
tickTime=200
initLimit=20
syncLimit=15
maxSessionTimeout=600000
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=*
preAllocSize=1024
`

func (e *zookeeper) dsn(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// identify checks that the server at dsn uses the data folder of this launcher. Only a running server reports the
// folder.
func (e *zookeeper) identify(ctx context.Context, dsn string, f *folder) (bool, error) {
	text, err := askZooKeeper(ctx, dsn, "conf")
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(text) {
		if dir, ok := strings.CutPrefix(strings.TrimSpace(line), "dataDir="); ok {
			return filepath.Dir(dir) == f.data(), nil
		}
	}
	return false, fmt.Errorf("it answers %q", strings.TrimSpace(text))
}

func (e *zookeeper) finish(context.Context, string) error { return nil }

// askZooKeeper sends a four-letter command, and returns the whole answer.
func askZooKeeper(ctx context.Context, addr, command string) (string, error) {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := io.WriteString(conn, command); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	return string(text), err
}
