package object

import "fmt"

// Count is a number with its noun, for messages: 1 link, 2 links.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
