// Package wild matches whole strings against the wildcard patterns of the gate.
//
//	p, err := wild.Compile("git push *", wild.Options{})
//	p.Match("git push origin") // true
//	p.Match("git push")        // true: a trailing " *" also stands for nothing
//	p.Match("git pushed")      // false
//
// A star is any run of characters, also across "/" and line ends; two stars are
// one star; a question mark is one character; everything else stands for itself,
// case and all. There is no escape character. A leading ~, $HOME or ${HOME},
// alone or before "/", is the home folder.
//
// A text may have holes ([Hole]): places whose content is not known, such as
// $X in a command. [Pattern.MatchForm] says that a pattern matches whatever the
// holes hold, [Pattern.MayMatch] that it matches for some content.
//
// # Limits
//
// There is no backtracking: the runs between two stars are looked for from left
// to right, once. Without a question mark between two stars the time is linear
// in pattern and text; with one it is at most their product.
package wild
