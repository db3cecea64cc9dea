#!/usr/bin/env bash
# unpack.sh SUITE FOLDER PACKAGE [alone]
#
# Unpacks a Debian package of any suite into FOLDER together with all that it depends on, its own C library too, so that
# a server newer than the host can run beside it; or the package alone. apt does the work (mirror, signatures, hashes), but with a state of its
# own: the sources, lists and package database of the host are only read, and root is not needed.
set -euo pipefail

suite=$1 folder=$2 package=$3
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Needed to install a server, never to run one.
skip='^(perl|libperl|libgdbm|libdb5|debconf|cdebconf|libdebconfclient|ucf|adduser|sensible-utils|systemd|init-system|dpkg|tar|passwd|login|base-passwd|libsemanage|libsepol|libc-gconv-modules-extra|openssl|python|libpython)'

# The mirror that this machine uses already. Lines are: 'MIRROR/dists/SUITE/InRelease' ...
mirror=$(apt-get --print-uris update | sed -n "s|^'\([^']*/debian/\)dists/.*|\1|p" | awk 'NR == 1')
[ -n "$mirror" ] || { echo "apt has no Debian mirror among its sources" >&2; exit 1; }

work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists,none,debs}/partial "$work/root"
: >"$work/status" # nothing installed: so the whole closure is wanted
echo "deb [signed-by=$keyring] $mirror $suite main" >"$work/sources.list"

options=(
	-q -y
	-o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=-
	-o Dir::State="$work" -o Dir::State::lists="$work/lists" -o Dir::State::status="$work/status"
	-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
	-o APT::Sandbox::User= -o APT::Install-Recommends=false
	-o APT::Update::Post-Invoke-Success::= -o Acquire::Languages=none
	-o Acquire::Check-Valid-Until=false # mirrors may lag; the signature is checked
	-o Acquire::Retries=2 -o Acquire::http::Timeout=30
)
for extra in deb::DEP-11 deb::DEP-11-icons-small deb::DEP-11-icons deb-src::Sources deb::Contents-deb; do
	options+=(-o "Acquire::IndexTargets::$extra::DefaultEnabled=false")
done

apt-get "${options[@]}" update >&2

# Lines of --print-uris: 'URI' name_version_arch.deb size hash. The archive folder is empty, else some would be left out.
apt-get "${options[@]}" -o Dir::Cache::archives="$work/none" --print-uris install "$package" |
	sed -n "s/^'[^']*' \([^ ]*\.deb\) .*/\1/p" | grep -vE "$skip" |
	sed 's/_[^_]*$//; s/%3a/:/; s/_/=/' >"$work/wanted"
[ "${4:-}" != alone ] || sed -i "/^$package=/!d" "$work/wanted"
grep -q "^$package=" "$work/wanted" || { echo "suite $suite has no package $package" >&2; exit 1; }

(cd "$work/debs" && xargs apt-get "${options[@]}" download <"$work/wanted" >&2)

# Old suites keep libraries in /lib, new ones in /usr/lib: links make both arrive in one place.
mkdir -p "$work"/root/usr/{bin,sbin,lib,lib64}
for d in bin sbin lib lib64; do ln -s "usr/$d" "$work/root/$d"; done
for deb in "$work"/debs/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$work/root" --keep-directory-symlink --no-same-owner
done
rm -rf "$work"/root/usr/share/{doc,man,locale,lintian,bug,doc-base}
mv -T "$work/root" "$folder"
