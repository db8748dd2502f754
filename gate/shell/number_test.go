package shell

import (
	"strings"
	"testing"
)

// Bash evaluates what stands where it wants a number or a name, and runs what is in a
// subscript there.
func TestEvaluated(t *testing.T) {
	for _, text := range []string{
		`x='a['; y='$(npm)]'; echo $(($x$y))`, `x=$(a); echo $((x))`, `x=$(a); echo $((1 + $x))`, `x=y; ((x))`, `x=y; ((i = x))`, `x=y; let x`,
		`printf -v x 'a\133\44(npm)\135'; echo $((x))`, `read x; [[ $x -eq 0 ]]`, `read x; [[ 1 -lt x ]]`, `x=y; [[ -v $x ]]`, `test -v $x`, `[ -v "$x" ]`,
		`x=y; echo ${b:x}`, `x=y; echo ${b:0:$x}`, `x=y; echo ${!x}`, `x=y; a[x]=1`, `x=y; echo ${a[x]}`, `x=y; a=([x]=1)`, `x=y; declare -i n=x`,
		`declare -i n='a[0$(npm)]'`, `y=z; declare -i y; y+=1`, `x=y; for ((i=x;;)); do b; done`, `for x in a; do echo $((x)); done`, `for x; do ((x)); done`,
		`f() { echo $(($1)); }; f x`, `set x; echo $(($1))`, `: x; echo $((_))`, `echo $(($(a)))`, `echo ${x:=y}$((x))`, `mapfile x; echo $((x))`, `read; ((REPLY))`,
		`test -v 'a[0$(npm)]'`, `read 'a[0$(npm)]'`, `printf -v 'a[0$(npm)]' x`, `test -v a\[0\$\(npm\)\]`, `[ -v 'a['"\$(npm)"']' ]`, "x='a[0`npm`]'; ((x))",
		`echo $((PATH=1)); ls`, `((PATH++)); ls`, `let PATH=1; ls`, `for ((PATH=1;;)); do ls; done`, `ls {PATH}>x`, `x=${y@P}`, `a[$(b)]=1`,
		"ls # x \\\nnpm", "#\\\nnpm", "ls;#x\\\nnpm", "echo $(#\\\nnpm)",
		"echo @($(npm))", "[[ x == @($(npm)|y) ]]", "echo !(`npm`)", `echo +(${x:-$(npm)})`,
	} {
		if got := floorsOf(text); !strings.Contains(got, string(Subtree)) && got == "" {
			t.Errorf("%q has no floor", text)
		}
	}
	for _, text := range []string{
		`echo $((1 + 2))`, `i=0; i=$((i+1))`, `i=0; ((i++))`, `for i in 1 2 3; do echo $((i * 2)); done`, `for i in {1..9}; do ((i)); done`, `echo $((x + 1))`,
		`for ((i=0;i<9;i++)); do a; done`, `n=$(wc -l <x); echo $((n / 2))`, `for i in $(seq 1 9); do ((i)); done`, `[[ $# -gt 0 ]]`, `[[ ${#x} -eq 1 ]]`,
		`[[ $? -ne 0 ]]`, `x=y; [[ $x == y ]]`, `x=y; [ "$x" = y ]`, `x=y; echo ${x:0:3}`, `a=(1 2); echo ${a[0]} "${a[@]}" ${#a[@]}`, `x=$(a); echo "$x"`,
		`declare -i n=1`, `let i=1`, `echo @(a|b)`, `[[ x == a* ]]`, `grep '[a-z]$' x`, `sed 's/a[0-9]$//' x`, `[ -n "$(a)" ]`, `ls a >x 2>&1`,
	} {
		if got := floorsOf(text); got != "" {
			t.Errorf("%q has %s", text, got)
		}
	}
}
