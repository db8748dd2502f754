package main

import (
	"reflect"
	"testing"
)

func TestMost(t *testing.T) {
	got := most("the cat, the dog; a CAT and the end", 2)
	want := []entry{{"the", 3}, {"cat", 2}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("most = %v, want %v", got, want)
	}
}
