package envelope

import "strings"

// minSecret is how long the value of a variable has to be, in bytes, to be taken for a secret
// because of the variable's name: "1" is part of everything.
const minSecret = 6

// Secrets are the values that nobody but the host may see: of the token, which getenv has, and
// of the variables of the command that are named like a secret (contract bridge-and-gate,
// section A.9).
func (b *Bridge) Secrets(getenv func(string) string) (list []string) {
	if b == nil {
		return nil
	}
	if b.Endpoint != nil && b.Endpoint.TokenVariable != "" {
		if token := getenv(b.Endpoint.TokenVariable); token != "" {
			list = append(list, token)
		}
	}
	if b.Command != nil {
		for _, v := range b.Command.Env {
			if secretName(v.Name) && len(v.Value) >= minSecret {
				list = append(list, v.Value)
			}
		}
	}
	return list
}

// secretName reports whether a variable of this name usually holds a secret.
func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, word := range [...]string{"secret", "token", "password", "passwd", "credential", "private_key", "api_key", "apikey", "auth"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
