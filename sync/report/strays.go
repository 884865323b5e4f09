package report

import (
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/sync/plan"
)

// straysDoc are objects of a cluster that carry our label and are not provably ours. They are told, and count as nothing.
type straysDoc struct {
	Strays []plan.Stray `json:"strays,omitempty"` // the first, by key
	More   int          `json:"moreStrays,omitempty"`
}

// words name the first of them, and say what to do about that one.
func (s straysDoc) strays() string {
	var names []string
	for i, stray := range s.Strays {
		if i == perCluster {
			break
		}
		names = append(names, stray.Key.String())
	}
	if more := len(s.Strays) + s.More - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s: %s; %s", strings.Join(names, ", "), s.Strays[0].Why, s.Strays[0].Do)
}
