package credential

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Access is what a source has in its target: its account, what is live of its tokens, and what people asked for; nil: nothing.
type Access struct {
	Account object.Key
	Issued
	// Last and Bound are the highest numbers of tokens that do not expire and of those of mode Bound that the target's inventory names. They
	// need not be told where something is live, and the inventory does not hold Later.
	Last, Bound int
	Requested   *RotationRequest

	NotVerifying  bool // nobody tries credentials here: that of the source need not be proven
	AwaitsRestart bool // the source's control plane goes on with a former credential until it is told
}

// RotationRequest is a rotation that people ask for: the source is to use a token past the one of that number. It is met once it does, and, to
// revoke, once no other is left.
type RotationRequest struct {
	After  int
	Revoke bool
}

// Rotation is where the tokens of a link of mode Bound stand.
type Rotation struct {
	Use     *linkerd.Credential  // what the source is to hold; nil: none is good
	Life    time.Duration        // of Use, as granted; zero where that is not known
	Keep    []object.Key         // generations that the target is to hold, oldest first
	Tokens  []object.Key         // and tokens of mode LegacyToken
	Need    *object.TokenRequest // to be asked for now; nil: nothing
	Renewal time.Time            // when the next generation is due; zero: it is
	Expires time.Time            // when Use is no longer good; zero: there is none
	Number  int                  // of Use
	Done    bool                 // what people asked for is done
}

// Tokens are renewed once two thirds of their granted life are over, which leaves a third for tries; a change of the
// declared ttl to a shorter one counts at once. No jitter: links were made at different moments.
const renewAfter, renewOf = 2, 3

// LeastDiscovery is the shortest life of a token that the source's control plane uses: that reads its credential when it
// starts, and people need time to restart it.
const LeastDiscovery = 7 * 24 * time.Hour

// TooShort returns why the source may not be given what was granted, or nil.
func (r Rotation) TooShort(l fleet.Link) *object.Reason {
	if r.Use == nil || !l.Spec.UsesRemoteDiscovery() || r.Life >= LeastDiscovery {
		return nil
	}
	return object.Because(reason.TokenLifetimeTooShort, "tokens of cluster %s live %s, too short for this link: raise --service-account-max-token-expiration there, or use another credentials.mode; remote discovery and federated services need %s",
		l.Target.Name, r.Life, LeastDiscovery)
}

// Shortened returns a reason if a token in use lives shorter than was asked; else nil.
func (r Rotation) Shortened(l fleet.Link) *object.Reason {
	asked := l.Spec.TokenTTL()
	if r.Use == nil || r.Life >= asked {
		return nil
	}
	return object.Because(reason.TokenLifetimeTooShort, "the token lives %s instead of %s: the API server of %s limits it, or credentials.ttl was raised after the token was issued",
		r.Life, asked, l.Target.Name)
}

// Rotate decides on the tokens of a link, all of it read from what is live: nothing need be remembered. Fresh is a token
// that was issued and is not seen in place yet; empty: none.
//
//	good       its account and its Secret are the live ones, by uid, and it has not expired
//	in use     the good one of the highest number, of that the one that was issued last, of the source's Secrets and fresh
//	due        none is in use, or two thirds of its life are over, or it is too short for the control plane
//	next       when due: the newest generation that no token of the source names, else a new one; a token is asked
//	           for once its Secret is live, so a token lost in a crash is replaced in the same generation
//	kept       what the source's Secrets name, what is in use, what is next, and the generation before each of these:
//	           readers that were not told yet go on until the rotation after next, when that token has expired anyway.
//	           Tokens of mode LegacyToken are the generation before the first.
//	asked for  due until one past that number is in use; nothing goes before every reader has it. To revoke, none up to it is kept then.
//
// Where the source's Secrets were not read, nothing is asked for and nothing taken away.
func (v Pair) Rotate(a Access, fresh object.Secret, now time.Time) Rotation {
	tokens, read := v.tokens()
	if !read {
		return Rotation{Keep: a.Former(), Tokens: a.LegacyTokens()}
	}
	t := rotation{Pair: v, Access: a, inUse: map[int]bool{}, now: now}
	for _, token := range tokens {
		t.addInUse(token)
		t.consider(token)
	}
	t.consider(fresh)
	r := Rotation{Use: t.use, Number: t.bestNumber(), Life: t.best.life(), Expires: t.best.Expires}
	keep := t.keptGenerations()
	if t.due() {
		next := t.next()
		keep = append(keep, t.withFormer(next)...)
		r.Need = t.need(next)
	} else {
		r.Renewal = t.renewal()
	}
	if a.Requested != nil && !t.replaces(t.use, a) { // a reader may go on with any of them
		keep = append(append(keep, 0), a.Live...)
	}
	slices.Sort(keep)
	keep = slices.Compact(keep)
	if keep = slices.DeleteFunc(keep, t.revoked()); t.use == nil || slices.Contains(keep, 0) {
		r.Tokens = a.LegacyTokens()
	}
	r.Keep = keysOf(a.Account, slices.DeleteFunc(keep, func(n int) bool { return n == 0 }))
	r.Done = t.done()
	return r
}

// tokens returns those of the source's Secrets that are linkwright's; false where one of them was not read.
func (v Pair) tokens() (out []object.Secret, read bool) {
	if !v.Source.Known() || !v.Target.Known() {
		return nil, false
	}
	for _, k := range v.Secrets() {
		live := v.Source.Live.Record(k)
		body, _ := v.Source.Live.Body(k)
		switch {
		case live.IsZero() && v.Source.Covers(k), !live.IsZero() && live.Mark != object.Ours:
		case len(body.Bytes()) == 0:
			return nil, false
		default:
			out = append(out, linkerd.TokenOf(body))
		}
	}
	return out, true
}

// SecretsHold reports whether every Secret of the link in the source carries the token.
func (v Pair) SecretsHold(token object.Secret) bool {
	for _, k := range v.Secrets() {
		if body, _ := v.Source.Live.Body(k); string(linkerd.TokenOf(body).Bytes()) != string(token.Bytes()) {
			return false
		}
	}
	return true
}

// Uses reports whether the source uses the credential now, and no other: every Secret of the link carries it, one that the link no longer has is
// gone, and Linkerd was told.
func (v Pair) Uses(now *linkerd.Credential) bool {
	if !v.Source.Known() || now == nil || !v.SecretsHold(now.Token) {
		return false
	}
	at, source := v.Link.Source.Spec.Linkerd, v.Source.Live
	plane := linkerd.ControlPlaneSecret(at, v.Link.Target.Name)
	if (source.Record(plane).Mark == object.Ours || source.Hides(plane) != nil) && !slices.Contains(v.Secrets(), plane) && v.Undiscovered == nil {
		return false
	}
	link, _ := source.Body(linkerd.LinkKey(at, v.Link.Target.Name))
	_, entries := linkerd.CredentialEntries(link)
	return slices.Contains(entries, linkerd.CredentialEntry(now.Fingerprint))
}

// replaces reports whether the source took a credential, that it is not known to fail, and that its control plane need not be told any more: no
// reader needs another one.
func (v Pair) replaces(c *linkerd.Credential, a Access) bool {
	if !v.Uses(c) || a.AwaitsRestart {
		return false
	}
	blind := a.NotVerifying || v.Link.Spec.Credentials.Preflight == api.Skip
	return blind || v.NotYetVerified(v.Verified(v.VerificationOf(c))) == nil
}

// rotation is one call of Rotate.
type rotation struct {
	Pair
	Access
	inUse map[int]bool // by tokens of the source, good or not; 0: that of mode LegacyToken
	use   *linkerd.Credential
	best  claims
	now   time.Time
}

func (t *rotation) addInUse(token object.Secret) {
	c, ok := claimsOf(token)
	if !ok {
		t.inUse[0] = t.inUse[0] || len(token.Bytes()) > 0
		return
	}
	t.inUse[t.number(c)] = true
}

func (t *rotation) consider(token object.Secret) {
	if c, ok := claimsOf(token); ok && t.valid(c) && (t.use == nil || t.newer(c)) {
		t.best = c
		t.use = t.credential(token)
	}
}

// newer reports whether a token was asked for after the best one so far. Numbers tell it; of one number the time does, by the target's clock.
func (t *rotation) newer(c claims) bool {
	if n, best := t.number(c), t.bestNumber(); n != best {
		return n > best
	}
	return c.Issued.After(t.best.Issued)
}

func (t *rotation) valid(c claims) bool {
	secret := object.Key{Kind: "Secret", Namespace: c.Namespace, Name: c.Secret.Name}
	bound, account := t.Target.Live.Record(secret), t.Target.Live.Record(t.Account)
	return numberOf(t.Account, secret) > 0 && bound.Mark == object.Ours && !bound.Terminating && bound.UID == c.Secret.UID &&
		account.UID == c.Account.UID && t.now.Before(c.Expires)
}

func (t *rotation) renewal() time.Time {
	life := min(t.best.life(), t.Link.Spec.TokenTTL())
	return t.best.Issued.Add(life / renewOf * renewAfter)
}

func (t *rotation) due() bool {
	return t.use == nil || !t.now.Before(t.renewal()) || t.tooShort() || t.Requested != nil && t.bestNumber() <= t.Requested.After
}

// revoked returns which generations people asked to revoke, once the source can do without them: none before.
func (t *rotation) revoked() func(int) bool {
	ready := t.Requested != nil && t.Requested.Revoke && t.replaced()
	return func(n int) bool { return ready && n <= t.Requested.After }
}

// replaced reports whether the source uses a token past the number that people gave, and that what they asked for may go on.
func (t *rotation) replaced() bool {
	return t.bestNumber() > t.Requested.After && t.replaces(t.use, t.Access)
}

func (t *rotation) done() bool {
	if t.Requested == nil || !t.replaced() {
		return false
	}
	return !t.Requested.Revoke || len(t.Tokens) == 0 && t.Live[0] > t.Requested.After
}

// tooShort: once a fresh one of the same length was granted, asking again is of no use.
func (t *rotation) tooShort() bool {
	return t.Link.Spec.UsesRemoteDiscovery() && t.best.life() < LeastDiscovery && t.inUse[t.bestNumber()]
}

func (t *rotation) bestNumber() int { return t.number(t.best) }

func (t *rotation) number(c claims) int {
	return numberOf(t.Account, object.Key{Kind: "Secret", Namespace: c.Namespace, Name: c.Secret.Name})
}

// next returns the generation to ask a token of.
func (t *rotation) next() int {
	newest := max(t.bestNumber(), t.Last)
	for _, n := range t.Tokens {
		newest = max(newest, n)
	}
	if t.Requested != nil {
		newest = max(newest, t.Requested.After)
	}
	for n := range t.inUse {
		newest = max(newest, n)
	}
	made := t.Bound // as far as is recorded: it may be lost, and is made again
	if len(t.Live) > 0 {
		made = max(made, t.Live[len(t.Live)-1])
	}
	return max(made, newest+1)
}

func (t *rotation) need(next int) *object.TokenRequest {
	key := generationKey(t.Account, next)
	secret, account := t.Target.Live.Record(key), t.Target.Live.Record(t.Account)
	if secret.Mark != object.Ours || secret.Terminating || account.Mark != object.Ours || account.Terminating {
		return nil
	}
	return &object.TokenRequest{Account: t.Account, Secret: key, UID: secret.UID, TTL: t.Link.Spec.TokenTTL()}
}

// keptGenerations returns the live generations that are used or may be, and those before them.
func (t *rotation) keptGenerations() []int {
	var out []int
	if t.use != nil {
		out = append(out, t.withFormer(t.bestNumber())...)
	}
	for n := range t.inUse {
		if n == 0 || slices.Contains(t.Live, n) {
			out = append(out, t.withFormer(n)...)
		}
	}
	return out
}

// withFormer adds the newest live generation before n; 0 where there is none.
func (t *rotation) withFormer(n int) []int {
	former := 0
	for _, m := range t.Live {
		if m < n {
			former = m
		}
	}
	return []int{former, n}
}
