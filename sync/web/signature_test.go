package web

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"testing"
)

// sign returns how every sender but GitLab's token does it.
func sign(of func() hash.Hash, key, body string) string {
	mac := hmac.New(of, []byte(key))
	_, _ = io.WriteString(mac, body)
	return hex.EncodeToString(mac.Sum(nil))
}

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

const (
	secretText = canary + "-and-long-enough"
	hookBody   = `{"ref":"refs/heads/main"}`
)

const everybody = "It's a Secret to Everybody"

// shown is a request, and the secrets that we have.
type shown struct {
	secrets, body string
	header        http.Header
}

func (s shown) believed(t *testing.T) bool {
	t.Helper()
	p, ok := signatureOf(s.header)
	if !ok {
		return false
	}
	right, err := p.holds(written(t, s.secrets), strings.NewReader(s.body))
	if err != nil {
		t.Error(err)
	}
	return right
}

// The vectors are those of the senders' own documentation, where that has any.
func TestProofHolds(t *testing.T) {
	sum := sign(sha256.New, secretText, hookBody)
	for what, s := range map[string]shown{
		"GitHub's vector": {
			everybody, "Hello, World!",
			headers("X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"),
		},
		"Bitbucket Cloud's vector": {
			everybody, "Hello World!",
			headers("X-Hub-Signature", "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9"),
		},
		"the vector of Standard Webhooks": {
			"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"test": 2432232314}`,
			headers("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp", "1614265330",
				"webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
		},
		"one of several of Standard Webhooks": {
			"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"test": 2432232314}`,
			headers("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp", "1614265330",
				"webhook-signature", "v2,AAAA v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
		},
		"GitHub, with SHA-1 beside": {secretText, hookBody, headers("X-Hub-Signature", "sha1=00", "X-Hub-Signature-256", "sha256="+sum)},
		"Gitea":                     {secretText, hookBody, headers("X-Gitea-Signature", sum, "X-Gogs-Signature", sum)},
		"Forgejo":                   {secretText, hookBody, headers("X-Forgejo-Signature", sum, "X-Gitea-Signature", sum)},
		"Bitbucket Data Center":     {secretText, hookBody, headers("X-Hub-Signature", "sha256="+sum)},
		"anybody, SHA-256":          {secretText, hookBody, headers("X-Signature", "sha256="+sum)},
		"anybody, SHA-512":          {secretText, hookBody, headers("X-Signature", "sha512="+sign(sha512.New, secretText, hookBody))},
		"GitLab's secret token":     {secretText, hookBody, headers("X-Gitlab-Token", secretText)},
		"capitals":                  {secretText, hookBody, headers("X-Gitea-Signature", strings.ToUpper(sum))},
		"the second secret":         {"an older secret of mine\n\n  " + secretText + "\r\n", hookBody, headers("X-Gitea-Signature", sum)},
		"the first secret":          {secretText + "\na newer secret of mine", hookBody, headers("X-Gitea-Signature", sum)},
		"the second token":          {"an older secret of mine\n" + secretText, hookBody, headers("X-Gitlab-Token", secretText)},
	} {
		if !s.believed(t) {
			t.Errorf("%s: is not believed", what)
		}
	}
}

func TestProofFails(t *testing.T) {
	sum := sign(sha256.New, secretText, hookBody)
	for what, s := range map[string]shown{
		"another time": {
			"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"test": 2432232314}`,
			headers("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp", "1614265331",
				"webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
		},
		"a body that differs":         {secretText, hookBody + " ", headers("X-Gitea-Signature", sum)},
		"another secret":              {everybody, hookBody, headers("X-Gitea-Signature", sum)},
		"a wrong token":               {secretText, hookBody, headers("X-Gitlab-Token", "wrong")},
		"the beginning of a token":    {secretText, hookBody, headers("X-Gitlab-Token", secretText[:20])},
		"a body signed as SHA-1":      {secretText, hookBody, headers("X-Hub-Signature", "sha1="+sum[:40])},
		"no header":                   {secretText, hookBody, headers()},
		"an empty signature":          {secretText, hookBody, headers("X-Hub-Signature-256", "")},
		"an empty sum":                {secretText, hookBody, headers("X-Hub-Signature-256", "sha256=")},
		"a sum that is cut off":       {secretText, hookBody, headers("X-Hub-Signature-256", "sha256="+sum[:62])},
		"no hexadecimal":              {secretText, hookBody, headers("X-Hub-Signature-256", "sha256="+strings.Repeat("g", 64))},
		"the algorithm is missing":    {secretText, hookBody, headers("X-Hub-Signature-256", sum)},
		"an unknown algorithm":        {secretText, hookBody, headers("X-Signature", "md5="+sum)},
		"an empty token":              {secretText, hookBody, headers("X-Gitlab-Token", "")},
		"two of a kind":               {secretText, hookBody, headers("X-Gitea-Signature", sum, "X-Gitea-Signature", sum)},
		"two in one":                  {secretText, hookBody, headers("X-Hub-Signature-256", "sha256="+sum+",sha256="+sum)},
		"the first header decides":    {secretText, hookBody, headers("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64), "X-Gitea-Signature", sum)},
		"and also an empty one":       {secretText, hookBody, headers("X-Hub-Signature-256", "", "X-Gitlab-Token", secretText)},
		"a standard without its id":   {secretText, hookBody, headers("Webhook-Timestamp", "1", "Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(make([]byte, 32)))},
		"a standard without versions": {secretText, hookBody, headers("Webhook-Id", "1", "Webhook-Timestamp", "1", "Webhook-Signature", "v2,AAAA")},
	} {
		if s.believed(t) {
			t.Errorf("%s: is believed", what)
		}
	}
}

// Whatever an unidentified cluster sends in headers, it is read without harm, and proves nothing.
func FuzzProof(f *testing.F) {
	sum := strings.Repeat("ab", 32)
	for _, value := range []string{"sha256=" + sum, sum, "v1,q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s= v1,", "", "sha512=" + sum + sum, "sha256=" + sum[:62], "=", ","} {
		for n := range 7 {
			f.Add(n, value, "id", "1614265330")
		}
	}
	names := []string{"X-Hub-Signature-256", "X-Forgejo-Signature", "X-Gitea-Signature", "Webhook-Signature", "X-Gitlab-Token", "X-Hub-Signature", "X-Signature"}
	f.Fuzz(func(t *testing.T, n int, value, id, at string) {
		h := http.Header{}
		h[names[((n%len(names))+len(names))%len(names)]] = []string{value}
		h["Webhook-Id"], h["Webhook-Timestamp"] = []string{id}, []string{at}
		p, ok := signatureOf(h)
		if !ok {
			return
		}
		if len(p.sums) > maxSums || p.token == "" && len(p.sums) == 0 {
			t.Fatalf("proofOf(%q): %+v", h, p)
		}
		for _, s := range p.sums {
			if len(s) != p.hash().Size() {
				t.Fatalf("proofOf(%q): a sum of %d bytes", h, len(s))
			}
		}
		right, err := p.holds(hookSecrets{hookSecret(secretText)}, bytes.NewReader([]byte(hookBody)))
		if err != nil || right && value != secretText {
			t.Fatalf("%q is believed: %v", h, err)
		}
	})
}

func TestSecretHidesItself(t *testing.T) {
	s := hookSecrets{hookSecret(secretText)}
	text, err := s[0].MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	for _, values := range []string{fmt.Sprint(s), fmt.Sprintf("%+v %#v %s", s, s, s[0]), string(text)} {
		if strings.Contains(values, canary) || !strings.Contains(values, "redacted") {
			t.Errorf("a secret shows itself: %s", values)
		}
	}
}
