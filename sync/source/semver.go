package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

const semverPrefix = "semver:"

// checkRef refuses what can never name anything.
func checkRef(ref string) error {
	if rule, ok := strings.CutPrefix(ref, semverPrefix); ok {
		if _, err := semver.NewConstraint(rule); err != nil {
			return fmt.Errorf("ref %q: %w (write a range like semver:1.x or semver:>=1.2.0 <2.0.0)", ref, err)
		}
		return nil
	}
	if strings.ContainsAny(ref, "~^") || strings.Contains(ref, "@{") { // no name has them: git-check-ref-format(1)
		return fmt.Errorf("ref %q: expressions such as HEAD~1 are not supported (name a branch, a tag or a hash; git rev-parse prints the hash of an expression)", ref)
	}
	return nil
}

// version is a tag that is one.
type version struct {
	*semver.Version
	tag string
}

// compare puts the lower one first. Build metadata makes no difference between versions; among tags something has to: it,
// and then the tag itself, count as text.
func (v version) compare(w version) int {
	return cmp.Or(v.Compare(w.Version), cmp.Compare(v.Metadata(), w.Metadata()), cmp.Compare(v.tag, w.tag))
}

// highest returns the tag of the highest version within a range. A tag is a version if it is one in full, with or without a v before it; one of a
// prerelease counts where the range names a prerelease.
func highest(refs *packp.AdvRefs, rule string) (target, error) {
	within, err := semver.NewConstraint(rule)
	if err != nil {
		return target{}, checkRef(semverPrefix + rule)
	}
	tags := 0
	var all []version
	for name := range refs.References {
		tag, ok := strings.CutPrefix(name, "refs/tags/")
		if !ok {
			continue
		}
		tags++
		if v, err := semver.StrictNewVersion(strings.TrimPrefix(tag, "v")); err == nil {
			all = append(all, version{v, tag})
		}
	}
	slices.SortFunc(all, func(v, w version) int { return w.compare(v) })
	for _, v := range all {
		if within.Check(v.Version) {
			t, _ := tip(refs, "refs/tags/"+v.tag)
			return t, nil
		}
	}
	return target{}, fmt.Errorf("%w: no tag is a version within %s%s", ErrRefGone, rule, availableTags(tags, all))
}

// availableTags returns what was there instead.
func availableTags(tags int, all []version) string {
	if len(all) == 0 {
		return fmt.Sprintf(" (%d tags, none of them a version like v1.2.3)", tags)
	}
	var names []string
	for _, v := range all[:min(3, len(all))] {
		names = append(names, v.tag)
	}
	return fmt.Sprintf(" (%d tags, %d of them versions, the highest: %s)", tags, len(all), strings.Join(names, ", "))
}
