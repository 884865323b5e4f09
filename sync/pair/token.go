package pair

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/linkwright/linkwright/object"
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
	parts := strings.Split(string(token.Bytes()), ".")
	if len(parts) != 3 {
		return claims{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return claims{}, false
	}
	var c struct {
		IssuedAt   int64 `json:"iat"`
		Expires    int64 `json:"exp"`
		Kubernetes struct {
			Namespace string    `json:"namespace"`
			Secret    reference `json:"secret"`
			Account   reference `json:"serviceaccount"`
		} `json:"kubernetes.io"`
	}
	if json.Unmarshal(raw, &c) != nil || c.Kubernetes.Secret.Name == "" || c.Expires <= c.IssuedAt {
		return claims{}, false
	}
	return claims{
		Issued: time.Unix(c.IssuedAt, 0), Expires: time.Unix(c.Expires, 0),
		Namespace: c.Kubernetes.Namespace, Account: c.Kubernetes.Account, Secret: c.Kubernetes.Secret,
	}, true
}

func (c claims) life() time.Duration { return c.Expires.Sub(c.Issued) }

// generation is the key of the Secret that the n-th token of an account is bound to: deleting it revokes that token.
func generation(account object.Key, n int) object.Key {
	return object.Key{Kind: "Secret", Namespace: account.Namespace, Name: account.Name + "-" + strconv.Itoa(n)}
}

// numberOf is the n of generation; 0 for any other key.
func numberOf(account, k object.Key) int {
	if of, n := numbered(k); of == account {
		return n
	}
	return 0
}

// numbered takes the key of a generation apart; 0 for any other key.
func numbered(k object.Key) (account object.Key, n int) {
	at := strings.LastIndexByte(k.Name, '-')
	if at < 0 || k.Kind != "Secret" || k.Group != "" {
		return object.Key{}, 0
	}
	n, err := strconv.Atoi(k.Name[at+1:])
	account = object.Key{Kind: "ServiceAccount", Namespace: k.Namespace, Name: k.Name[:at]}
	if err != nil || n < 1 || generation(account, n) != k {
		return object.Key{}, 0
	}
	return account, n
}

// Generations are the numbers of the Secrets of ours that are live in a target, by account, in order.
func (s Side) Generations() map[object.Key][]int {
	out := map[object.Key][]int{}
	for k, r := range s.Seen.Records() {
		if k.Namespace != object.AccessNamespace || r.Mark != object.Ours || r.Going {
			continue
		}
		if account, n := numbered(k); n > 0 {
			out[account] = append(out[account], n)
		}
	}
	for _, numbers := range out {
		slices.Sort(numbers)
	}
	return out
}

// Former are the keys of all generations of the account that are live in the target.
func (a Access) Former() []object.Key { return keysOf(a.Account, a.Live) }

// With adds the generations that are live to others.
func (a Access) With(more []object.Key) []object.Key {
	numbers := slices.Clone(a.Live)
	for _, k := range more {
		numbers = append(numbers, numberOf(a.Account, k))
	}
	slices.Sort(numbers)
	return keysOf(a.Account, slices.Compact(numbers))
}

// Bound says that a token is one that is bound to a Secret, and no stand-in.
func Bound(token object.Secret) bool {
	_, ok := claimsOf(token)
	return ok
}

func keysOf(account object.Key, numbers []int) []object.Key {
	out := make([]object.Key, len(numbers))
	for i, n := range numbers {
		out[i] = generation(account, n)
	}
	return out
}
