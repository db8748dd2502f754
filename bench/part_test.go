package main

import "testing"

func TestReplacePart(t *testing.T) {
	const begin, end = "<!-- begin: make bench-x -->\n", "<!-- end: x -->\n"
	tests := []struct {
		name, page, want string
		fails            bool
	}{
		{name: "a part that does not end", page: "a\n" + begin + "b\n", fails: true},
		{name: "a part that ends before it begins", page: end + begin, fails: true},
		{name: "two parts of one name", page: begin + end + begin + end, fails: true},
		{name: "no such part", page: "a\n\n", want: "a\n\n" + begin + "new\n" + end},
		{name: "what is around it stays", page: "a\n" + begin + "old\n" + end + "b\n", want: "a\n" + begin + "new\n" + end + "b\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := replacePart([]byte(tt.page), "x", []byte("\nnew\n"))
			if (err != nil) != tt.fails || string(got) != tt.want {
				t.Errorf("replacePart = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}
