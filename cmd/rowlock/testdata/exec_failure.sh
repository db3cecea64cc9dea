# If the command cannot be executed, rowlock exits with its own code for that, and leaves no lock behind.
set -eu

code=0; rowlock run job -- no-such-command 2>err || code=$?
test $code = 127
test "$(cat err)" = 'rowlock: no-such-command: command not found'
code=0; rowlock run job -- ./no/such/file 2>err || code=$?
test $code = 127
touch plain
code=0; rowlock run job -- ./plain 2>err || code=$?
test $code = 126
grep -q './plain: cannot be executed: permission denied' err
code=0; rowlock run job -- ./ 2>err || code=$?
test $code = 126
case $(rowlock status job) in '"job" is free, and was never held' | '"job" is free') ;; *) exit 1 ;; esac

# Some errors are detected only when rowlock starts the command under the lock.
printf 'echo no first line\n' >script
chmod +x script
code=0; rowlock run job -- ./script 2>err || code=$?
test $code = 126
grep -q '#!/bin/sh' err
printf '#!/no/such/interpreter\n' >script
code=0; rowlock run job -- ./script 2>err || code=$?
test $code = 127
rowlock status job >out
