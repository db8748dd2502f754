// Package ask has the tools that a person or the host's own records answer: ask_user,
// ask_user_list, ask_user_rank, ask_user_form and query_activity (contract brainkit §5).
//
//	set, err := ask.New(ask.Config{Host: host, Posture: posture})
//	…
//	for _, t := range set.Tools() { … }
//
// The host is any value; what it can do is found by its methods ([UserAsker], [ListAsker],
// [RankAsker], [FormAsker], [ActivityQuerier]). What it cannot do is refused by name, never
// answered with nothing. The tools read and write no file and take no lock.
//
// Whoever answers is trusted less than the question: answers are checked against what was
// asked, what was not asked is dropped, and what can be worked out is worked out here. Faults
// of the question are found before anybody sees it.
//
// # Limits
//
// Lengths are counted in UTF-16 units, as the other implementations of the contract do.
//
// An answer to ask_user is whatever text the host gives for a question: only its key is
// checked, because the person may answer in his own words.
//
// An id may be called __proto__. The result then has it as a key, and a reader of the result
// must decode it so (strictjson.Limits.Proto).
//
// Two questions of one ask_user with the same text share one answer.
//
// get_current_location and show_block are not answered here; [Locator] is reserved for the
// first.
package ask
