# --timeout counts from the start of the command, not from the start of the waiting.
set -eu

rowlock run job --min-hold 2s -- true
rowlock run job --wait 10s --timeout 1900ms -- true 2>/dev/null
