// Package action has the three answers of a rule, and their order.
//
//	a, err := action.Parse("ask")
//	...
//	a = action.Worse(a, action.Deny) // deny
//
// # Limits
//
// It knows nothing of why. The zero value, and whatever is none of the three, denies.
package action
