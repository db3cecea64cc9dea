# release can free a name that is only closed.
set -eu

rowlock run job --min-hold 1h -- sh -c 'echo $ROWLOCK_TOKEN >token'
code=0; rowlock run job -- true 2>err || code=$?
test $code = 75
rowlock release job --token "$(cat token)"
rowlock run job -- true
