package doctor

import (
	"os"

	"golang.org/x/sys/unix"
)

// networkFileSystems maps the type of each file system that several machines can mount at the same time to its name.
// The types are those of statfs(2).
var networkFileSystems = map[int64]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "SMB",
	unix.CEPH_SUPER_MAGIC: "Ceph", unix.AFS_SUPER_MAGIC: "AFS", unix.CODA_SUPER_MAGIC: "Coda", unix.V9FS_MAGIC: "9P",
}

// networkFileSystem returns the name of the network file system that contains the file, or an empty text if the file is
// on a local disk.
func networkFileSystem(path string) string {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return ""
	}
	return networkFileSystems[int64(uint32(s.Type))] //nolint:gosec,unconvert // its type depends on the machine
}

// mayWriteTo returns an error if this user cannot create files in a folder.
func mayWriteTo(folder string) error {
	if err := unix.Access(folder, unix.W_OK|unix.X_OK); err != nil {
		return &os.PathError{Op: "write to", Path: folder, Err: err}
	}
	return nil
}
