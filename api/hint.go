package api

import (
	"maps"
	"slices"
	"strings"
)

// DidYouMean gives a hint that names the word nearest to what was written, or "" where none is near.
func DidYouMean(written string, words []string) string {
	if near, ok := Nearest(written, words); ok {
		return "did you mean " + near + "?"
	}
	return ""
}

// Nearest finds the word with the fewest edits from what was written, capitals aside: at most a third of its letters,
// or one; a word of three letters or more that is the beginning of the other one counts as one edit. Of equally near
// ones the first wins.
func Nearest(written string, words []string) (word string, ok bool) {
	const longest = 64 // words of declarations are shorter; keeps the cost bounded
	if written == "" || len(written) > longest {
		return "", false
	}
	best := max(1, len(written)/3) + 1
	for _, w := range words {
		if d := distance(strings.ToLower(written), strings.ToLower(w), best); d < best {
			word, best = w, d
		}
	}
	return word, word != ""
}

// distance may give any number from limit up where there is no need to count.
func distance(a, b string, limit int) int {
	switch {
	case a != b && min(len(a), len(b)) >= 3 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)):
		return 1
	case abs(len(a)-len(b)) >= limit:
		return limit
	}
	return editDistance(a, b)
}

// editDistance is the number of inserted, deleted, replaced or swapped neighbouring bytes between a and b (optimal string alignment).
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+substitutionCost(a[i-1], b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

func substitutionCost(a, b byte) int {
	if a == b {
		return 0
	}
	return 1
}

func abs(n int) int { return max(n, -n) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
