package credential

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/state"
)

// claims are what a bound token says of itself (kubernetes pkg/serviceaccount/claims.go). They are read, not verified:
// whether the token is good is asked of what is live in the target.
type claims struct {
	Issued, Expires time.Time
	Namespace       string
	Account, Secret reference
}

type reference struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// claimsOf reads a token; false where it is none that is bound to a Secret, a stand-in for instance.
func claimsOf(token object.Secret) (claims, bool) {
	var c struct {
		IssuedAt   int64 `json:"iat"`
		Expires    int64 `json:"exp"`
		Kubernetes struct {
			Namespace string    `json:"namespace"`
			Secret    reference `json:"secret"`
			Account   reference `json:"serviceaccount"`
		} `json:"kubernetes.io"`
	}
	if !token.Claims(&c) || c.Kubernetes.Secret.Name == "" || c.Expires <= c.IssuedAt {
		return claims{}, false
	}
	return claims{
		Issued: time.Unix(c.IssuedAt, 0), Expires: time.Unix(c.Expires, 0),
		Namespace: c.Kubernetes.Namespace, Account: c.Kubernetes.Account, Secret: c.Kubernetes.Secret,
	}, true
}

func (c claims) life() time.Duration { return c.Expires.Sub(c.Issued) }

// generationKey returns the key of the Secret that the n-th token of an account is bound to: deleting it revokes that token.
func generationKey(account object.Key, n int) object.Key {
	return object.Key{Kind: "Secret", Namespace: account.Namespace, Name: account.Name + "-" + strconv.Itoa(n)}
}

// Later is in the name of each token that does not expire but the first.
const Later = "-token."

// tokenSecret returns the key of the Secret that holds the n-th token of an account that does not expire. The number stands behind a dot: behind a
// hyphen it would be that of a token of another account.
func tokenSecret(account object.Key, n int) object.Key {
	k := object.Key{Kind: "Secret", Namespace: account.Namespace, Name: account.Name + "-token"}
	if n > 1 {
		k.Name += "." + strconv.Itoa(n)
	}
	return k
}

// LastOf returns the highest numbers among keys: of the account's tokens that do not expire, and of those of mode Bound; 0 for none.
func LastOf(account object.Key, keys []object.Key) (last, bound int) {
	for _, k := range keys {
		if of, n := parseTokenKey(k); of == account {
			last = max(last, n)
		}
		bound = max(bound, numberOf(account, k))
	}
	return last, bound
}

// parseTokenKey takes the key of tokenOf apart; 0 for any other key.
func parseTokenKey(k object.Key) (account object.Key, n int) {
	name, number, counted := strings.Cut(k.Name[strings.LastIndexByte(k.Name, '-')+1:], ".")
	if name != "token" || k.Kind != "Secret" || k.Group != "" {
		return object.Key{}, 0
	}
	account = object.Key{Kind: "ServiceAccount", Namespace: k.Namespace, Name: k.Name[:strings.LastIndexByte(k.Name, '-')]}
	if n = 1; counted {
		n, _ = strconv.Atoi(number)
	}
	if n < 1 || tokenSecret(account, n) != k {
		return object.Key{}, 0
	}
	return account, n
}

// numberOf returns the n of generation; 0 for any other key.
func numberOf(account, k object.Key) int {
	if of, n := parseGeneration(k); of == account {
		return n
	}
	return 0
}

// parseGeneration takes the key of a generation apart; 0 for any other key.
func parseGeneration(k object.Key) (account object.Key, n int) {
	at := strings.LastIndexByte(k.Name, '-')
	if at < 0 || k.Kind != "Secret" || k.Group != "" {
		return object.Key{}, 0
	}
	n, err := strconv.Atoi(k.Name[at+1:])
	account = object.Key{Kind: "ServiceAccount", Namespace: k.Namespace, Name: k.Name[:at]}
	if err != nil || n < 1 || generationKey(account, n) != k {
		return object.Key{}, 0
	}
	return account, n
}

// Issued are the numbers, in order, of an account's Secrets of linkwright that are live in a target: of those that tokens are bound to, and of those
// that hold tokens which do not expire.
type Issued struct{ Live, Tokens []int }

// issuedIn returns what is live of an account in a target.
func issuedIn(target state.Cluster, account object.Key) (out Issued) {
	for k, r := range target.Live.Named(object.Key{Kind: "Secret", Namespace: object.AccessNamespace, Name: account.Name + "-"}) {
		if r.Mark != object.Ours || r.Terminating {
			continue
		}
		if of, n := parseGeneration(k); n > 0 && of == account {
			out.Live = append(out.Live, n)
		} else if of, n := parseTokenKey(k); n > 0 && of == account {
			out.Tokens = append(out.Tokens, n)
		}
	}
	slices.Sort(out.Live)
	slices.Sort(out.Tokens)
	return out
}

// Former returns the keys of all generations of the account that are live in the target.
func (a Access) Former() []object.Key { return keysOf(a.Account, a.Live) }

// LegacyTokens returns the keys of all its tokens that do not expire.
func (a Access) LegacyTokens() []object.Key { return a.tokens(a.Tokens) }

func (a Access) tokens(numbers []int) []object.Key {
	out := make([]object.Key, len(numbers))
	for i, n := range numbers {
		out[i] = tokenSecret(a.Account, n)
	}
	return out
}

// MergeKeys adds what is live to the keys of one kind of tokens.
func MergeKeys(live, more []object.Key) []object.Key {
	out := slices.Concat(live, more)
	slices.SortFunc(out, object.Key.Compare)
	return slices.Compact(out)
}

// Bound reports whether a token is one that is bound to a Secret, and no stand-in.
func Bound(token object.Secret) bool {
	_, ok := claimsOf(token)
	return ok
}

func keysOf(account object.Key, numbers []int) []object.Key {
	out := make([]object.Key, len(numbers))
	for i, n := range numbers {
		out[i] = generationKey(account, n)
	}
	return out
}
