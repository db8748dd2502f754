package main

import (
	"bytes"
	"errors"
	"fmt"
)

// A part of the page is between two lines, so that it can be measured alone.
func partMarks(name string) (begin, end string) {
	return fmt.Sprintf("<!-- begin: make bench-%s -->\n", name), "<!-- end: " + name + " -->\n"
}

// replacePart puts text where the page has the part, or behind the page when it has
// none. A page that has one mark alone, or one twice, is an error. Pure.
func replacePart(page []byte, name string, text []byte) ([]byte, error) {
	begin, end := partMarks(name)
	whole := []byte(begin + string(bytes.TrimSpace(text)) + "\n" + end)
	b, e := bytes.Count(page, []byte(begin)), bytes.Count(page, []byte(end))
	if b == 0 && e == 0 {
		return append(append(bytes.TrimRight(page, "\n"), "\n\n"...), whole...), nil
	}
	before, rest, _ := bytes.Cut(page, []byte(begin))
	_, after, ok := bytes.Cut(rest, []byte(end))
	if b != 1 || e != 1 || !ok {
		return nil, errors.New("the page has no single part " + name)
	}
	return bytes.Join([][]byte{before, whole, after}, nil), nil
}
