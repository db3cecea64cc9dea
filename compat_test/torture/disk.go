//go:build linux

package main

import (
	"context"

	"github.com/rowlock/rowlock/internal/testserver"
)

// fullDisk is a small file system that the torture fills. If a server exits because the file system is full, the torture starts
// the server again when there is room.
type fullDisk struct {
	disk   *testserver.Disk
	server *testserver.Server // nil if the store is a SQLite file
}

const diskSize = 256 << 20

func postgresOnDisk(ctx context.Context) (cluster, error) {
	s, err := testserver.Start(ctx, testserver.Postgres, testserver.Options{Disk: diskSize, Args: []string{"-c", "max_wal_size=64MB", "-c", "min_wal_size=32MB"}})
	if err != nil {
		return nil, err
	}
	return &fullDisk{s.Disk, s}, nil
}

// sqliteOnDisk mounts the small file system at the path data. The SQLite file with the data is there.
func sqliteOnDisk(data string) (cluster, error) {
	d, err := testserver.NewDisk(data, diskSize)
	if err != nil {
		return nil, err
	}
	return &fullDisk{disk: d}, nil
}

func (d *fullDisk) addrs() []string {
	if d.server == nil {
		return nil
	}
	return []string{d.server.Addr}
}

func (d *fullDisk) hit(ctx context.Context, s step) error {
	if err := d.disk.Fill(); err != nil {
		return err
	}
	wait(ctx, s.For)
	if err := d.disk.Free(); err != nil || d.server == nil || d.server.Running() {
		return err
	}
	patient, cancel := unhurried(ctx)
	defer cancel()
	return d.server.Restart(patient)
}

func (d *fullDisk) stop() {
	if d.server != nil {
		d.server.Stop()
		return
	}
	d.disk.Remove()
}
