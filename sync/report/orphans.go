package report

import (
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report/output"
)

func orphansOf(all []plan.Orphan) (out []output.Orphan) {
	for _, s := range all {
		out = append(out, output.Orphan{Object: s.Key, Message: s.Why, Remedy: s.Remedy})
	}
	return out
}

// orphans names the first orphans of a cluster, and says what to do about the first.
func orphans(c output.Cluster) string {
	var names []string
	for i, o := range c.Orphans {
		if i == perCluster {
			break
		}
		names = append(names, o.Object.String())
	}
	if more := len(c.Orphans) + c.MoreOrphans - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	if len(names) > 1 {
		return fmt.Sprintf("%s; of the first: %s; %s", strings.Join(names, ", "), c.Orphans[0].Message, c.Orphans[0].Remedy)
	}
	return fmt.Sprintf("%s: %s; %s", names[0], c.Orphans[0].Message, c.Orphans[0].Remedy)
}
