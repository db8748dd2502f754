package spell

// Most is the length in bytes up to which words are compared, and the distance of longer ones.
const Most = 64

// Distance counts the bytes to add, remove or change to make b of a (Levenshtein).
func Distance(a, b string) int {
	if len(a) > Most || len(b) > Most {
		return Most
	}
	row := make([]int, len(b)+1)
	for k := range row {
		row[k] = k
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for k := range len(b) {
			change := before
			if a[i] != b[k] {
				change++
			}
			before = row[k+1]
			row[k+1] = min(change, row[k]+1, row[k+1]+1)
		}
	}
	return row[len(b)]
}
