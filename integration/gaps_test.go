package integration

// knownGaps are findings: what the product does not hold, or does not say, although
// isolation landlock could. Each fails its test when it is closed, so that the list
// cannot outlive its reason.
var knownGaps = map[string]string{}
