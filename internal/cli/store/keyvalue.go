package store

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/rowlock/rowlock/internal/oneline"
)

// KeyValue is the parsed address of a store without tables, such as Redis or etcd.
type KeyValue struct {
	kind
	Scheme         string
	Servers        []string // HOST:PORT
	user, password string
	path           string // the path of the URL, without slashes at its ends
	query          url.Values
}

// keyValueLocation parses SCHEME://USER:PASSWORD@HOST:PORT,HOST:PORT/PATH?OPTION=VALUE. Its errors do not repeat any
// part of a malformed address, because a password may be anywhere in the address.
func keyValueLocation(scheme, rest string) (Location, error) {
	at := &KeyValue{kind: kinds[scheme], Scheme: scheme}
	authority, tail := strings.TrimPrefix(rest, "//"), ""
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority, tail = authority[:i], authority[i:]
	}
	account, servers := "", authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		account, servers = authority[:i+1], authority[i+1:]
	}
	if err := at.readServers(servers); err != nil {
		return Location{}, err
	}
	u, err := parseURL("store://" + account + "servers" + tail)
	if err != nil {
		return Location{}, err
	}
	if u.Fragment != "" {
		return Location{}, errors.New("a # has no meaning here; in a password it is written %23")
	}
	at.user = u.User.Username()
	at.password, _ = u.User.Password()
	at.path = strings.Trim(u.Path, "/")
	if err := oneline.Join(at.readOptions(u.RawQuery), at.check(at)); err != nil {
		return Location{}, err
	}
	return Location{KeyValue: at, Shown: at.shown(servers, u), ByName: true}, nil
}

// readServers parses a list of HOST or HOST:PORT, separated by commas.
func (at *KeyValue) readServers(list string) error {
	servers := strings.Split(list, ",")
	if len(servers) > 1 && !at.several {
		return fmt.Errorf("%s:// is for one server: write %s, or redis+cluster://HOST:PORT,HOST:PORT for servers of a Redis Cluster, or redlock://HOST:PORT,HOST:PORT,HOST:PORT for independent servers", at.Scheme, at.form)
	}
	for i, server := range servers {
		u, err := url.Parse("store://" + server)
		if err != nil || u.Host != server || u.Hostname() == "" || strings.Contains(u.Hostname(), ":") != (server[0] == '[') {
			return fmt.Errorf("server %d is missing or not HOST:PORT: write %s; special characters in user and password are written %%XX", i+1, at.form)
		}
		port := u.Port()
		if port == "" {
			port = at.port
		}
		at.Servers = append(at.Servers, net.JoinHostPort(u.Hostname(), port))
	}
	return nil
}

// readOptions parses the options of the address. It returns an error for an option that this kind of store does not
// have, or that is given twice.
func (at *KeyValue) readOptions(query string) error {
	known := slices.Clone(at.options)
	if at.Secure {
		known = append(known, tlsOptions...)
	}
	var err error
	at.query, err = url.ParseQuery(query)
	for name, values := range at.query {
		if !slices.Contains(known, name) || len(values) > 1 {
			err = errors.New("unknown, or given twice")
		}
	}
	if err != nil && len(known) == 0 {
		return fmt.Errorf("%s:// has no options after a ?", at.Scheme)
	}
	if err != nil {
		return fmt.Errorf("the options of %s:// after the ? are %s, each at most once", at.Scheme, strings.Join(known, "=…&")+"=…")
	}
	return nil
}

// shown returns the address with its password masked.
func (at *KeyValue) shown(servers string, u *url.URL) string {
	shown := at.Scheme + "://"
	if _, ok := u.User.Password(); ok {
		u.User = url.UserPassword(at.user, masked)
	}
	if u.User != nil {
		shown += u.User.String() + "@"
	}
	shown += servers + u.EscapedPath()
	if u.RawQuery != "" {
		shown += "?" + u.RawQuery
	}
	return shown
}

// option returns the value of an option of the address, or an empty text if the address does not contain the option.
func (at *KeyValue) option(name string) string { return at.query.Get(name) }

// Prefix returns the option prefix, or unlessGiven without that option. The keys of all locks begin with the prefix.
func (at *KeyValue) Prefix(unlessGiven string) string {
	if at.query.Has("prefix") {
		return at.option("prefix")
	}
	return unlessGiven
}
