# --timeout counts from the start of the command, not from the start of the wait.
set -eu

# If the command cannot be started, --min-hold does not keep the lock closed.
printf '#!/no/such/interpreter\n' >script
chmod +x script
code=0; rowlock run bad --min-hold 1h -- ./script 2>err || code=$?
test $code = 127
grep -Fqx 'rowlock: ./script: its interpreter /no/such/interpreter was not found' err || { cat err; exit 1; }
printf '#!/bin/sh\r\n' >script
code=0; rowlock run bad --min-hold 1h -- ./script 2>err || code=$?
test $code = 127
grep -Fqx 'rowlock: ./script: its interpreter "/bin/sh\r" was not found' err || { cat err; exit 1; }
mkfifo pipe
chmod +x pipe
code=0; rowlock run bad --min-hold 1h -- ./pipe 2>err || code=$?
test $code = 126
grep -Fqx 'rowlock: ./pipe: cannot be executed: it is not a regular file' err || { cat err; exit 1; }
rowlock run bad -- true

rowlock run job --min-hold 6s -- true
rowlock run job --wait 1m --timeout 5s -- true 2>/dev/null
