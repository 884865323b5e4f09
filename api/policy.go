package api

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// SyncPolicyDoc declares how often linkwright checks Git and what it may delete. There is at most one; without it the
// defaults apply.
type SyncPolicyDoc struct {
	TypeMeta `json:",inline"`
	Metadata Meta       `json:"metadata,omitzero"`
	Spec     SyncPolicy `json:"spec,omitzero"`
}

// SyncPolicy sets how often linkwright checks Git and what it may delete.
type SyncPolicy struct {
	// Interval between polls, at most: a duration of at least 5s, such as 30s or 5m; each pause is shortened by up to a
	// tenth, at random. With a schedule, there is none.
	Interval string `json:"interval,omitempty"`
	// Schedule is a five-field cron expression that says when to poll, instead of an interval; it may begin with
	// CRON_TZ=Area/City, else it is in UTC. It is kept as it is written.
	Schedule string `json:"schedule,omitempty"`
	Prune    Prune  `json:"prune,omitzero"`
	// Ignore leaves fields of rendered objects to others, such as an autoscaler: they are not applied, and whatever they
	// hold is no drift. A rule that matches no object does nothing.
	Ignore []Ignore `json:"ignore,omitempty"`
	// Replace lets linkwright delete and create again objects of these kinds if a field must change that the API server never
	// changes in an existing object, or if a list item of others is in the way. Without a rule the end is Blocked until you
	// decide. A rule that matches no object does nothing.
	Replace []Replace `json:"replace,omitempty"`
}

// Ignore leaves fields of one kind of rendered objects to others: linkwright no longer applies them. A value that only
// linkwright had set goes with the next apply, and the API server's default counts (of spec.replicas: 1) until somebody
// sets another; one that somebody else has set as well stays as it is. Taking the rule back takes the field back.
type Ignore struct {
	// Kind of the objects.
	Kind IgnoredKind `json:"kind"`
	// Fields are paths below spec, such as spec.replicas; fields inside lists cannot be named.
	Fields []string `json:"fields"`
}

// IgnoredKind is a rendered kind with fields that others may have a reason to set.
type IgnoredKind string

// Kinds with fields that can be ignored.
const (
	IgnoreDeployment          IgnoredKind = "Deployment"
	IgnorePodDisruptionBudget IgnoredKind = "PodDisruptionBudget"
	IgnoreService             IgnoredKind = "Service"
)

// Replace lets linkwright delete and create again objects of one kind, each only if the API server itself rejected the
// change because a field of it is immutable, such as spec.selector of a Deployment that another version of linkwright made,
// or data of an overlay's ConfigMap; or because somebody's PUT left a list item that collides with one of linkwright's.
// While the object is gone, so is what it does: the pods of a Deployment, the address of a Service. An object that carries
// linkwright.dev/prune: disabled stays, and with prune.policy UpsertOnly or CreateOnly nothing is replaced. A binding to
// another role and a Secret of another type need no rule.
type Replace struct {
	// Kind of the objects.
	Kind ReplacedKind `json:"kind"`
}

// ReplacedKind is a kind with immutable fields whose objects linkwright can create again without a loss.
type ReplacedKind string

// Kinds that can be replaced: rendered ones, and those that an overlay may bring in.
const (
	ReplaceDeployment    ReplacedKind = "Deployment"
	ReplaceService       ReplacedKind = "Service"
	ReplaceConfigMap     ReplacedKind = "ConfigMap"
	ReplaceResourceQuota ReplacedKind = "ResourceQuota"
)

// PrunePolicy sets which writes are allowed at all.
type PrunePolicy string

const (
	// PruneSync creates, updates and deletes. It is the default.
	PruneSync PrunePolicy = "Sync"
	// UpsertOnly never deletes; a drain and a replace are deletes.
	UpsertOnly PrunePolicy = "UpsertOnly"
	// CreateOnly creates what is missing and changes nothing else.
	CreateOnly PrunePolicy = "CreateOnly"
)

// Prune limits what one commit may remove. A commit over a limit removes nothing anywhere until somebody approves it; what it
// creates or changes is applied.
type Prune struct {
	// Policy sets which writes are allowed at all.
	Policy PrunePolicy `json:"policy,omitempty"`
	// MaxClusters is how many clusters one commit may remove.
	MaxClusters *int `json:"maxClusters,omitempty"`
	// MaxLinks is the share of the links of a cluster that one commit may remove while the cluster stays declared: a
	// percentage. Links to a cluster that the commit removes do not count.
	MaxLinks Percentage `json:"maxLinks,omitempty"`
	// MinAllowed is how many links of a cluster one commit may always remove, whatever share that is.
	MinAllowed *int `json:"minAllowed,omitempty"`
	// MaxMirrors is the share of the mirrored Services of a cluster that one commit may make disappear: a percentage. 20 of
	// them may always go.
	MaxMirrors Percentage `json:"maxMirrors,omitempty"`
	// DrainDeadline is how long Linkerd's controller may take to remove the mirrors of a link that is no longer declared: a
	// duration such as 90s, counted from when its removal began. Then linkwright removes what is left. It does so at once if
	// no controller runs, if the target does not answer, or with 0s.
	DrainDeadline string `json:"drainDeadline,omitempty"`
}

// Every is the time between polls, and true, or false where a schedule says when.
func (p SyncPolicy) Every() (time.Duration, bool) {
	if p.Schedule != "" {
		return 0, false
	}
	d, err := time.ParseDuration(p.Interval)
	if err != nil || d <= 0 {
		d = DefaultInterval
	}
	return d, true
}

// Next is the first poll after now. A schedule without CRON_TZ is in UTC. What Check refuses is answered as if it
// were not declared, so that Next is always after now.
func (p SyncPolicy) Next(now time.Time) time.Time {
	every, ok := p.Every()
	if ok {
		return now.Add(every)
	}
	s, err := parseSchedule(p.Schedule)
	if err != nil {
		return now.Add(DefaultInterval)
	}
	if next := s.Next(now.UTC()); !next.IsZero() {
		return next
	}
	return now.Add(DefaultInterval)
}

// Deadline is how long a drain may take; zero: there is none.
func (p Prune) Deadline() time.Duration {
	d, err := time.ParseDuration(p.DrainDeadline)
	if p.DrainDeadline == "" || err != nil || d < 0 {
		return DefaultDrainDeadline
	}
	return d
}

// parseSchedule reads five fields, and CRON_TZ=Area/City before them. The zone alone makes the parser panic (cron v3.0.1).
func parseSchedule(text string) (cron.Schedule, error) {
	const fields = cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow
	if zone, rest, _ := strings.Cut(text, " "); strings.Contains(zone, "TZ=") && strings.TrimSpace(rest) == "" {
		return nil, errors.New("nothing follows the time zone")
	}
	s, err := cron.NewParser(fields).Parse(text)
	if err != nil {
		return nil, err
	}
	if s.Next(time.Unix(0, 0).UTC()).IsZero() {
		return nil, errors.New("no day matches it")
	}
	return s, nil
}

// minInterval spares the Git server.
const minInterval = 5 * time.Second

// Check returns what is wrong with the values of the declaration.
func (d SyncPolicyDoc) Check() []Finding {
	p := d.Spec
	spec := slices.Concat(
		prefixed("interval", checkDuration(p.Interval, minInterval)),
		prefixed("schedule", p.checkSchedule()),
		prefixed("prune", p.Prune.check()),
		prefixed("ignore", p.checkIgnore()),
		prefixed("replace", p.checkReplace()),
	)
	return slices.Concat(prefixed("metadata", d.Metadata.check()), prefixed("spec", spec))
}

func (p SyncPolicy) checkSchedule() []Finding {
	if p.Schedule == "" {
		return nil
	}
	if p.Interval != "" {
		return findingWithHint("remove one", "interval and schedule are both declared")
	}
	if _, err := parseSchedule(p.Schedule); err != nil {
		return findingWithHint(`write five fields, such as "*/5 * * * *"`, "%q is not a schedule: %v", p.Schedule, err)
	}
	return nil
}

func (p SyncPolicy) checkIgnore() []Finding {
	var found []Finding
	for i, rule := range p.Ignore {
		at := slices.Concat(
			prefixed("kind", checkWord(rule.Kind)),
			prefixed("fields", checkFields(rule.Fields)),
		)
		found = append(found, prefixed(strconv.Itoa(i), at)...)
	}
	return found
}

func (p SyncPolicy) checkReplace() []Finding {
	var found []Finding
	for i, rule := range p.Replace {
		found = append(found, prefixed(strconv.Itoa(i), prefixed("kind", rule.Kind.check()))...)
	}
	return found
}

// check: what people may well ask for, and what must not be, is refused with the reason.
func (k ReplacedKind) check() []Finding {
	why, hint := "", "remove it"
	switch k {
	case "Namespace", "CustomResourceDefinition":
		why = "everything in it would be deleted, too"
	case "Link":
		why = "its creation time decides whose metadata federated services show"
	case "ServiceAccount":
		why = "its tokens would be revoked, and none of its fields is immutable"
	case "Secret":
		why, hint = "a token would be revoked, or a link would lose its credential", "remove it: linkwright replaces a Secret of another type without a rule"
	case "RoleBinding", "ClusterRoleBinding":
		why, hint = "it needs no rule", "remove it: linkwright always replaces a binding to another role"
	default:
		return checkWord(k)
	}
	return findingWithHint(hint, "a rule must not name %s: %s", k, why)
}

// Replaces reports whether objects of a kind may be deleted and made anew for an immutable field.
func (p SyncPolicy) Replaces(kind string) bool {
	return slices.Contains(p.Replace, Replace{Kind: ReplacedKind(kind)})
}

// checkFields: whole branches below spec, by names of fields.
func checkFields(fields []string) []Finding {
	if fields != nil && len(fields) == 0 {
		return finding("no field is named")
	}
	var found []Finding
	for i, field := range fields {
		names := strings.Split(field, ".")
		if len(names) < 2 || names[0] != "spec" || !areFieldNames(names) {
			found = append(found, prefixed(strconv.Itoa(i), findingWithHint("write a path such as spec.replicas", "%q is not a path of fields below spec", field))...)
		}
	}
	return found
}

func areFieldNames(names []string) bool {
	for _, name := range names {
		if name == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}

// checkDuration: an empty text is absent.
func checkDuration(text string, least time.Duration) []Finding {
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return findingWithHint("write a duration such as 30s or 5m", "%q is not a duration", text)
	case d <= 0:
		return finding("%q is not above zero", text)
	case d < least:
		return finding("%q is shorter than %s", text, least)
	}
	return nil
}

func (p Prune) check() []Finding {
	return slices.Concat(
		prefixed("policy", checkWord(p.Policy)),
		prefixed("maxClusters", notNegative(p.MaxClusters)),
		prefixed("maxLinks", p.MaxLinks.check()),
		prefixed("minAllowed", notNegative(p.MinAllowed)),
		prefixed("maxMirrors", p.MaxMirrors.check()),
		prefixed("drainDeadline", checkDeadline(p.DrainDeadline)),
	)
}

func notNegative(n *int) []Finding {
	if n != nil && *n < 0 {
		return finding("%d is less than 0", *n)
	}
	return nil
}

// maxDrainDeadline bounds for how long a link that is declared no more may be left standing.
const maxDrainDeadline = 24 * time.Hour

// checkDeadline allows zero, unlike for other durations.
func checkDeadline(text string) []Finding {
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return findingWithHint("write a duration such as 5m, or 0s to remove at once", "%q is not a duration", text)
	case d < 0:
		return finding("%q is negative", text)
	case d > maxDrainDeadline:
		return finding("%q is longer than %s", text, maxDrainDeadline)
	}
	return nil
}
