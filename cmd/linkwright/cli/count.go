package cli

import "fmt"

// Count is a number with its noun, such as 2 links.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
