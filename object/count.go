package object

import (
	"fmt"
	"strings"
)

// FirstNames names the first of a list, and how many more there are: a, b and 2 more.
func FirstNames(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// Count is a number with its noun, for messages: 1 link, 2 links.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
