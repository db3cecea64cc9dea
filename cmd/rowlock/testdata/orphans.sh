# rowlock adopts the processes whose parent has ended, and waits for each of them as soon as it ends, also for those that
# left the process group. Otherwise a long command that starts many short ones would fill the container with zombies.
set -eu

rowlock run job -- sh -c '
	for i in 1 2 3 4 5 6 7 8 9 10; do
		sh -c "true & exit"
		setsid sh -c "true & exit"
		echo started
	done
	# The third field is the state, and the fourth is the parent. No name of a process here contains a blank.
	zombies() { cat /proc/[0-9]*/stat 2>/dev/null | while read -r pid name state parent rest; do
		if test "$state" = Z && test "$parent" = "$PPID"; then echo "$pid $name"; fi
	done; }
	tries=0
	while test -n "$(zombies)"; do
		tries=$((tries + 1))
		if test $tries -ge 200; then zombies; exit 1; fi
		sleep 0.05
	done
' >out || { cat out; exit 1; }
test "$(grep -c started out)" = 10
