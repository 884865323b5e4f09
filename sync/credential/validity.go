package credential

import (
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Validity is when a link's token was issued, and until when it is valid. A time that is not known, or never comes, is zero.
type Validity struct{ Issued, Expires time.Time }

// Equal reports whether both times are the same.
func (v Validity) Equal(o Validity) bool {
	return v.Issued.Equal(o.Issued) && v.Expires.Equal(o.Expires)
}

// Validity returns how old the token of a link is, and until when it is valid. Access is the link's, of Set.Access.
//
//	LegacyToken      since its Secret in the target was created; it does not expire
//	Bound, Existing  as the token itself says, also if it has expired; of two Secrets in the source, the token that expires first
//
// Another credential than a JSON Web Token says nothing.
func (v Pair) Validity(access Access) Validity {
	if v.Link.Spec.Credentials.Mode != api.LegacyToken {
		return v.held()
	}
	t, err := v.LegacyTokens(access)
	if err != nil || t.Use == nil {
		return Validity{}
	}
	body, _ := v.Target.Live.Body(tokenSecret(access.Account, t.Number))
	text, _ := body.Text("metadata", "creationTimestamp")
	created, _ := time.Parse(time.RFC3339, text) // zero if there is none
	return Validity{Issued: created}
}

// held returns the validity of the token that the source holds.
func (v Pair) held() (out Validity) {
	if !v.Source.Known() {
		return Validity{}
	}
	for _, k := range v.Secrets() {
		body, _ := v.Source.Live.Body(k)
		of := validityOf(linkerd.TokenOf(body))
		if out == (Validity{}) || !of.Expires.IsZero() && (out.Expires.IsZero() || of.Expires.Before(out.Expires)) {
			out = of
		}
	}
	return out
}

// validityOf reads a JSON Web Token; zero: it is none, or says nothing.
func validityOf(token object.Secret) (out Validity) {
	var c struct {
		IssuedAt int64 `json:"iat"`
		Expires  int64 `json:"exp"`
	}
	if !token.Claims(&c) {
		return Validity{}
	}
	if c.IssuedAt > 0 {
		out.Issued = time.Unix(c.IssuedAt, 0)
	}
	if c.Expires > 0 {
		out.Expires = time.Unix(c.Expires, 0)
	}
	return out
}
