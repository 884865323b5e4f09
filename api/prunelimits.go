package api

import (
	"strconv"
	"strings"
)

// Percentage is a share of something as people write it: 30%.
type Percentage string

// Share is the percentage as a number from 0 to 100. What Check refuses is 0.
func (p Percentage) Share() int {
	n, err := strconv.Atoi(strings.TrimSuffix(string(p), "%"))
	if err != nil || p.check() != nil {
		return 0
	}
	return n
}

// check: an empty text is absent.
func (p Percentage) check() []Finding {
	digits, whole := strings.CutSuffix(string(p), "%")
	if n, err := strconv.Atoi(digits); p == "" || whole && err == nil && n >= 0 && n <= 100 && strconv.Itoa(n) == digits {
		return nil
	}
	return findingWithHint("write a percentage such as 30%", "%q is not a percentage from 0%% to 100%%", string(p))
}

// PruneLimits are the limits of spec.prune as numbers. Shares are percentages.
type PruneLimits struct {
	MaxClusters int `json:"maxClusters"`
	MaxLinks    int `json:"maxLinks"`
	MinAllowed  int `json:"minAllowed"`
	MaxMirrors  int `json:"maxMirrors"`
}

// Limits are those of the policy, with every default filled in.
func (p SyncPolicy) Limits() PruneLimits {
	prune := p.WithDefaults().Prune
	return PruneLimits{
		MaxClusters: *prune.MaxClusters, MaxLinks: prune.MaxLinks.Share(),
		MinAllowed: *prune.MinAllowed, MaxMirrors: prune.MaxMirrors.Share(),
	}
}

// Stricter takes of each limit the one that allows less.
func (l PruneLimits) Stricter(o PruneLimits) PruneLimits {
	return PruneLimits{
		MaxClusters: min(l.MaxClusters, o.MaxClusters), MaxLinks: min(l.MaxLinks, o.MaxLinks),
		MinAllowed: min(l.MinAllowed, o.MinAllowed), MaxMirrors: min(l.MaxMirrors, o.MaxMirrors),
	}
}
