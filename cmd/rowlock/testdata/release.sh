# release requires the token that status shows. It ends a live lease only with --live.
set -eu
mkfifo started block

rowlock run job --ttl ${TTL:-15s} -- sh -c 'echo $ROWLOCK_TOKEN >started; read _ <block' 2>/dev/null &
rowlock=$!
read token <started

code=0; rowlock release job 2>err || code=$?
test $code = 64
code=0; rowlock release job --token "$token" 2>err || code=$?
test $code = 75
grep -q '"job" is not released, because its lease is alive; --live ends that lease: "job" is held by sh@' err
code=0; rowlock release job --live --token $((token - 1)) 2>err || code=$?
test $code = 1
grep -q 'nobody holds it with token' err

rowlock --log-format=json release job --live --token "$token" >out 2>err
test ! -s out
grep -q '"event":"released","namespace":"","name":"job","token":'$token'}$' err
code=0; rowlock release job --live --token "$token" 2>/dev/null || code=$?
test $code = 1
code=0; wait $rowlock || code=$?
test $code = 79
