package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// pruneCap is the flag --prune-limits: limits of a removal that no declaration can raise. Those left out are the highest.
type pruneCap struct {
	at   **api.PruneLimits
	text string
}

func (p *pruneCap) String() string { return p.text }

func (p *pruneCap) Type() string { return "limits" }

func (p *pruneCap) Set(text string) error {
	limits := api.PruneLimits{MaxClusters: math.MaxInt, MaxLinks: 100, MinAllowed: math.MaxInt, MaxMirrors: 100}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var at *int
		percent := false
		switch name {
		case "maxClusters":
			at = &limits.MaxClusters
		case "minAllowed":
			at = &limits.MinAllowed
		case "maxLinks":
			at, percent = &limits.MaxLinks, true
		case "maxMirrors":
			at, percent = &limits.MaxMirrors, true
		default:
			return fmt.Errorf("%q is not a limit: want maxClusters=N, maxLinks=P%%, minAllowed=N, maxMirrors=P%%", part)
		}
		digits, isPercent := strings.CutSuffix(value, "%")
		n, err := strconv.Atoi(digits)
		switch {
		case percent != isPercent || err != nil || n < 0 || percent && n > 100:
			return fmt.Errorf("%s=%s: want %s", name, value, map[bool]string{true: "a percentage such as 30%", false: "a number such as 1"}[percent])
		}
		*at = n
	}
	*p.at, p.text = &limits, text
	return nil
}
