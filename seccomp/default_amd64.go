package seccomp

import _ "embed" // the default filter

//go:embed default-amd64.bpf
var defaultBlob string
