# With --log-format=json rowlock writes every event as one JSON object in a line. The inner run has no ROWLOCK_LOCKS,
# so it behaves like another job.
set -eu

code=0; rowlock --log-format=json run job -- sh -c 'env -u ROWLOCK_LOCKS rowlock run job -- true; exit 4' 2>err || code=$?
test $code = 4
grep -q '^{"time":"[^"]*","level":"info","msg":"acquired","event":"acquired","namespace":"","name":"job","token":[0-9]*,"holder":"sh@[^"]*","waited_seconds":[0-9.]*,"attempts":[1-9]}$' err
grep -q '^rowlock: "job" is held by' err # the inner run writes its messages as text
grep -q '"event":"exited".*"exit_code":4}$' err
grep -q '"event":"released".*"held_seconds":[0-9.]*}$' err

code=0; rowlock --log-format=json run job -- env -u ROWLOCK_LOCKS rowlock --log-format=json run job -- true 2>err || code=$?
test $code = 75
grep -Eq '"level":"error","msg":".*","event":"held".*"reason":"held","holder":"(env@|session )[^"]*".*"waited_seconds":0,"exit_code":75}$' err
case ${ROWLOCK_STORE:-} in
postgres-advisory* | mysql-getlock* | etcd:* | zk:*) ! grep -q expires_in_seconds err || exit 1 ;; # the lock does not expire, or the expiry is unknown
*) grep -q '"expires_in_seconds":[0-9.]*,' err ;;
esac
! grep -q '"since":"0001' err || exit 1
