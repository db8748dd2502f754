package main

import "reflect"

// textAddress is where this program's own code lies.
func textAddress() uintptr { return reflect.ValueOf(textAddress).Pointer() }
