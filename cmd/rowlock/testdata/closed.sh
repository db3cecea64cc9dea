# release can free a lock that no process holds but that is still closed, for example because of --min-hold.
set -eu

rowlock run job --min-hold 1h -- sh -c 'echo $ROWLOCK_TOKEN >token'
code=0; rowlock run job -- true 2>err || code=$?
test $code = 75
rowlock release job --token "$(cat token)"
rowlock run job -- true
