# release with --live ends the connection that holds a session lock. The rowlock process that held the lock detects this
# at once, long before its next heartbeat.
set -eu
mkfifo started block

code=0; rowlock release job --live --token 7 2>err || code=$?
test $code = 1
rowlock run job --ttl 1h -- sh -c 'echo >started; read _ <block' 2>lost &
rowlock=$!
read _ <started

code=0; rowlock release job --live 2>err || code=$?
test $code = 64
token=$(rowlock status job --json | sed -n 's/.*"token": \([0-9]*\),/\1/p')
code=0; rowlock release job --token "$token" 2>err || code=$?
test $code = 75
grep -q '"job" is not released, because its holder is connected; --live ends that connection: "job" is held by ' err
code=0; rowlock release job --live --token $((token + 1)) 2>err || code=$?
test $code = 1
grep -q 'nobody holds it with token' err

rowlock release job --live --token "$token" >out 2>err
test ! -s out -a ! -s err
code=0; wait $rowlock || code=$?
test $code = 79
grep -q 'the connection that kept the lease is gone; stopping the command' lost
code=0; rowlock release job --live --token "$token" 2>/dev/null || code=$?
test $code = 1
rowlock run job -- true
