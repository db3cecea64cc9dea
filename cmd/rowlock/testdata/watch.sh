# ls --watch reports changes of locks. Filter options select the locks in the list, and --sort sets their order.
set -eu
mkfifo started block other changes

rowlock run b --holder first -- sh -c 'echo >started; read _ <block' &
first=$!
read _ <started
rowlock ls --watch --json --interval 100ms >changes &
watch=$!
exec 3<changes
read line <&3
case $line in '{"time":"'*'","change":"new","namespace":"","name":"b","state":"held","token":'*'"holder":"first"'*) ;; *) echo "$line"; exit 1 ;; esac
rowlock run a --holder second -- sh -c 'echo >started; read _ <other' &
second=$!
read _ <started
read line <&3
case $line in *'"change":"new","namespace":"","name":"a","state":"held"'*) ;; *) echo "$line"; exit 1 ;; esac

names() { rowlock ls "$@" | sed 1d | cut -d ' ' -f 1 | tr '\n' ' '; }
test "$(names)" = 'a b '
test "$(names --reverse)" = 'b a '
test "$(names --sort holder)" = 'b a '
test "$(names --sort age)" = 'a b '
test "$(names --sort token)" = 'b a '
test "$(names --name '[b-z]')" = 'b '
test "$(names --holder eco)" = 'a '
test "$(names --state paused,closed)" = ''
test "$(names --state held --state free)" = 'a b '
rowlock ls --watch --interval 100ms >table &
table=$!

echo >block
read line <&3
case $line in *'"change":"gone",'*'"name":"b"'*) ;; *) echo "$line"; exit 1 ;; esac
echo >other
wait $first $second
read line <&3
case $line in *'"change":"gone",'*'"name":"a"'*) ;; *) echo "$line"; exit 1 ;; esac
until test "$(grep -c '^NAME ' table)" -ge 2; do :; done
kill -TERM $watch $table
code=0; wait $watch || code=$?
wait $table || :
test $code = 143
