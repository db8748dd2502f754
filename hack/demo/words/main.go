// Command words counts the words of a text and writes the most frequent ones
// to a file: the small program that the demonstration works on.
//
//	words TEXT REPORT
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"unicode"
)

type entry struct {
	word  string
	count int
}

func main() {
	if err := report(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func report(text, name string) error {
	data, err := os.ReadFile(text)
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, e := range most(string(data), 5) {
		fmt.Fprintf(&out, "%d %s\n", e.count, e.word)
	}
	return os.WriteFile(name, []byte(out.String()), 0o644)
}

// most returns the n most frequent words, equal ones by the alphabet.
func most(text string, n int) []entry {
	counts := map[string]int{}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		counts[word]++
	}
	var list []entry
	for word, count := range counts {
		list = append(list, entry{word, count})
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].count != list[j].count {
			return list[i].count > list[j].count
		}
		return list[i].word < list[j].word
	})
	return list[:min(n, len(list))]
}
