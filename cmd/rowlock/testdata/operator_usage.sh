# An operator's subcommand with invalid arguments exits with 64, and writes one sentence.
set -eu

refused() {
	want=$1
	shift
	code=0; rowlock "$@" >out 2>err || code=$?
	if test $code != 64 || ! grep -Fqe "$want" err || test -s out; then
		echo "rowlock $*: $code"
		cat err
		exit 1
	fi
}
refused '--reason is missing: say why' pause job
refused 'the name of the lock is missing: rowlock pause NAME' pause --reason why
refused 'the reason of the pause, "xxxx' pause job --store sqlite:usage.db --reason "$(printf %1025d 0 | tr ' 0' xx)"
refused '--wait=soon: write a number with a unit' pause job --reason why --wait soon
refused 'the name of the lock is missing: rowlock resume NAME' resume
refused '--token=0: must be above 0' resume job --token 0
refused 'want one name, but 2 were given: b is the second' resume a b
refused 'the name of the lock is missing: rowlock wait NAME' wait
refused '--timeout=-1s: must not be negative' wait job --timeout -1s
refused '--unused is missing: write for how long' prune
refused '--unused=soon: write a number with a unit' prune --unused soon
refused 'rowlock prune takes no arguments, but job was given' prune --unused 1d job
refused '--token=seven' release job --token seven
refused 'want one name, but 2 were given: b is the second' status a b
for command in status wait 'release --token 1' history; do # an invalid name is an error, and not a free lock
	refused 'NAME: want at most 512 bytes of UTF-8' $command --store sqlite:usage.db "$(printf '%0513d' 1)"
	refused 'NAME: want at most 512 bytes of UTF-8' $command --store sqlite:usage.db "$(printf 'a\377')"
done
for command in 'status job' 'run job -- true' ls; do
	refused '--namespace: want at most 128 bytes of UTF-8' --namespace "$(printf '%0129d' 1)" --store sqlite:usage.db $command
done
refused 'rowlock version takes no argument' version now
refused '--interval=1ms: must be 100ms at least' ls --watch --interval 1ms
refused '--interval is for --watch' ls --interval 1s
refused '--state=lost: write held, paused, closed, expired, free' ls --state lost
refused '--sort=size: write name, state, holder, age, token' ls --sort size
refused '--name=[: syntax error in pattern' ls --name '['
refused 'rowlock ls takes no arguments, but job was given' ls job
