package main

// program is what is run inside. The script gets $1 the canary outside, $2 the step's id, which is a
// number of seconds too,
// $3 the folder of programs. want are the statuses that it may end with when nothing disturbs it.
type program struct {
	script string
	argv   []string // in place of a script
	flags  []string
	want   []int // -1: 128 and the step's signal
	weight int   // in plain runs; 0: not there
	made   bool  // leaves the file "made"
}

const denied = 90 // the program could write outside

// attempt is in every script: what must not work.
const attempt = `(echo x >>"$1") 2>/dev/null && exit 90; (rm "$1" || mv "$1" "$1.x" || ln "$1" made-link) 2>/dev/null && exit 90
`

var table = map[string]program{
	"quiet":  {script: `:`, want: []int{0}, weight: 4},
	"exit":   {script: `exit 7`, want: []int{7}, weight: 4},
	"signal": {script: `kill -$4 $$; sleep 1; exit 91`, want: []int{-1}, weight: 8},
	"denied": {script: `echo y >made; exit 3`, want: []int{3}, weight: 8, made: true},
	"stubborn": {
		script: `trap "" TERM INT HUP QUIT; echo y >made; while :; do sleep "$2"; done`, want: []int{124},
		flags: []string{"--timeout", "900ms", "--kill-after", "200ms"}, weight: 5,
	},
	"stopped": {script: `kill -STOP $$; exit 92`, want: []int{124}, flags: []string{"--timeout", "900ms", "--kill-after", "200ms"}, weight: 4},
	"burning": {script: `while :; do :; done`, want: []int{124}, flags: []string{"--timeout", "700ms"}, weight: 2},
	"daemon": {
		script: `(setsid sh -c 'trap "" TERM HUP; sleep "$1" & sleep "$1"; :' sh "$2" &) ; setsid -f sh -c 'sleep "$1"; :' sh "$2"; exit 3`,
		want:   []int{3}, weight: 6,
	},
	"tree": {
		script: `i=0; while [ $i -lt 20 ]; do (sh -c 'sleep "$1"; :' sh "$2" &); i=$((i+1)); done; exit 4`, want: []int{4}, weight: 3,
	},
	"bomb": { // bounded by itself: sixty-four that fork while they are killed
		script: `id=$2; f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep "$id"; }; f 5 & sleep 0.2; exit 5`, want: []int{5}, weight: 2,
	},
	"output": {script: `head -c 3000000 /dev/zero; exit 6`, want: []int{6}, weight: 3},
	"closed": {script: `exec 0<&- 1>&- 2>&-; exit 5`, want: []int{5}, weight: 3},
	"missing": {
		argv: []string{"/nonexistent/program"}, want: []int{127}, weight: 2,
	},
	"notrun":   {argv: []string{"./plainfile"}, want: []int{126}, weight: 2},
	"outside":  {argv: []string{"CANARY"}, want: []int{125, 126, 127}, weight: 1},
	"long":     {script: `sleep "$2"; :`, want: []int{124}, flags: []string{"--timeout", "2500ms", "--kill-after", "300ms"}, weight: 3},
	"fsize":    {script: `head -c 300000 /dev/zero >big; exit 6`, want: []int{6}, weight: 2},
	"core":     {script: `ulimit -c unlimited; kill -ABRT $$`, want: []int{134}, weight: 1},
	"hooks":    {script: `mkdir -p .git/hooks; echo x >.git/hooks/pre-commit; echo x >.envrc; exit 8`, want: []int{8}, weight: 2},
	"explains": {script: `cat "$1" /etc/shadow 2>/dev/null; exit 9`, want: []int{9}, weight: 2},
	"notfound": {argv: []string{"/nonexistent/program"}, want: []int{127}},
	"sockets":  {script: `"$3/actor" -act unix "$5"; exit $?`, want: []int{0}},
	"web":      {script: `"$3/actor" -act get 127.0.0.1 "$6" && "$3/actor" -act noget 127.0.0.1 9 && exit 0; exit 93`, want: []int{0}},
	"calls": { // of the bridge; what is asked about may be allowed or not
		script: `B="$3/brainbox"
echo x | $B write made >/dev/null 2>&1 || exit 94
echo x | $B write denied.txt >/dev/null 2>&1 && exit 95
echo x | $B write ../outside >/dev/null 2>&1 && exit 95
echo x | $B write asked.txt >/dev/null 2>&1; [ $? -lt 2 ] || exit 96
exit 3`,
		want: []int{3}, flags: []string{"--timeout", "60s"}, made: true,
	},
	"crowd": {
		script: `B="$3/brainbox"; i=0
while [ $i -lt 8 ]; do (echo $i | $B write asked-$i >/dev/null 2>&1) & i=$((i+1)); done
wait; exit 3`,
		want: []int{3}, flags: []string{"--timeout", "60s"},
	},
	"cancel": {
		script: `B="$3/brainbox"; for s in TERM KILL INT; do (echo x | $B write asked-$s >/dev/null 2>&1) & p=$!; sleep 0.3; kill -$s $p; wait $p; done 2>/dev/null; exit 3`,
		want:   []int{3}, flags: []string{"--timeout", "60s"},
	},
}

// programWeights are the programs of plain runs, in a fixed order.
func programWeights() []weighted {
	var list []weighted
	for _, name := range sortedKeys(table) {
		if w := table[name].weight; w > 0 {
			list = append(list, weighted{name, w})
		}
	}
	return list
}
