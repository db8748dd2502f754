// Package grant holds what a person approved for the rest of a session: in memory,
// listed, revocable, and gone with it.
//
//	book := grant.NewBook(clock)
//	id, err := book.Add(grant.Grant{Surface: "bash", Pattern: "make *", Agent: "a"}, grant.Run())
//	decision := rule.Fold(answers, rule.Inputs{Approvals: book.For("a")})
//	if !book.Use(decision.Grants) {
//		// one was used up or revoked meanwhile: judge again
//	}
//
// A grant turns a question about its surface into an allowance; it never meets a
// denial, since [rule.Fold] has denied before it asks. A question with a floor,
// and one about a protected name, take a grant of exactly that text or path.
//
// # Limits
//
// [Suggest] reads the words of a command as they stand; what it suggests is shown
// to a person before it is granted. Time does not pass while the machine sleeps
// if the clock is CLOCK_MONOTONIC, clock_gettime(2).
package grant
