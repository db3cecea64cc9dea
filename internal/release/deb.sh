#!/bin/sh
# Packs the command for Debian: deb.sh BINARY ARCHITECTURE VERSION FOLDER, where FOLDER has rowlock.1 and gets the package.
# The package is the same wherever it is built: its times are that of the last commit, and its files belong to root.
set -eu
binary=$1 architecture=$2 version=$3 folder=$4
root=$(git rev-parse --show-toplevel)
maintainer="The rowlock authors <rowlock@users.noreply.github.com>"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"

# v1.2.3 is 1.2.3, a commit after it 1.2.3+4.gabcdef, and a commit before the first tag 0~abcdef.
case $version in
v[0-9]*) version=$(echo "${version#v}" | sed 's/-rc/~rc/; s/-/+/; s/-/./g') ;;
*) version=0~$(echo "$version" | tr - .) ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/rowlock
umask 022
mkdir -p "$tree/DEBIAN" "$tree/usr/bin" "$tree/usr/share/man/man1" "$tree/usr/share/doc/rowlock" "$tree/usr/share/lintian/overrides" \
	"$tree/usr/share/bash-completion/completions" "$tree/usr/share/zsh/vendor-completions" "$tree/usr/share/fish/vendor_completions.d"
install -m 755 "$binary" "$tree/usr/bin/rowlock"
gzip -9nc "$folder/rowlock.1" >"$tree/usr/share/man/man1/rowlock.1.gz"
cp "$folder/rowlock.bash" "$tree/usr/share/bash-completion/completions/rowlock"
cp "$folder/rowlock.zsh" "$tree/usr/share/zsh/vendor-completions/_rowlock"
cp "$folder/rowlock.fish" "$tree/usr/share/fish/vendor_completions.d/rowlock.fish"
gzip -9nc "$root/CHANGELOG.md" >"$tree/usr/share/doc/rowlock/CHANGELOG.md.gz"
gzip -9nc >"$tree/usr/share/doc/rowlock/changelog.gz" <<END
rowlock ($version) stable; urgency=medium

  * CHANGELOG.md lists the changes.

 -- $maintainer  $(LC_ALL=C date -uRd "@$SOURCE_DATE_EPOCH")
END
cat >"$tree/usr/share/doc/rowlock/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: rowlock
Source: https://github.com/rowlock/rowlock

Files: *
Copyright: 2026 The rowlock authors
License: Apache-2.0
 On Debian systems, the text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.
END
# Go links its programs like this; no library of the system is in it.
echo "rowlock: statically-linked-binary [usr/bin/rowlock]" >"$tree/usr/share/lintian/overrides/rowlock"
cat >"$tree/DEBIAN/control" <<END
Package: rowlock
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -k --apparent-size -s "$tree" | cut -f1)
Section: admin
Priority: optional
Homepage: https://github.com/rowlock/rowlock
Description: distributed locks in the database that you already have
 rowlock runs a command while it holds a lock, so that a job runs on one
 machine at a time. The lock is a row in PostgreSQL, MySQL, MariaDB or
 SQLite, or a key in Redis, etcd or ZooKeeper.
 .
 The command also shows who holds which lock, and releases, pauses and
 prunes locks.
END
(cd "$tree" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
dpkg-deb --root-owner-group -Zxz -z1 --build "$tree" "$folder/rowlock_${version}_$architecture.deb" >/dev/null
