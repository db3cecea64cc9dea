package testserver

import (
	"errors"
	"os"
	"os/user"
	"strconv"
)

// account is a system account without privileges. Some servers refuse to run as root, and run under this account
// instead.
type account struct{ uid, gid int }

// unprivileged returns the account under which such a server must run. It returns nil if this process is not root,
// because the server can then run under the same account.
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
	return nil, errors.New("the server refuses to run as root, and there is no account named postgres or nobody")
}
