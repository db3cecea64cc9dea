package testserver

import (
	"errors"
	"os"
	"os/user"
	"strconv"
)

// account is a system account without privileges, for servers that refuse to run as root.
type account struct{ uid, gid int }

// unprivileged returns the account to run such a server as. It returns nil if this process is not root and can run
// the server itself.
func unprivileged() (*account, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return &account{uid, gid}, nil
	}
	return nil, errors.New("it refuses to run as root, and there is no account named postgres or nobody")
}
