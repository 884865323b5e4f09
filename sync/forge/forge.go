package forge

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Kind is a forge's API.
type Kind string

// Kinds of forges.
const (
	GitHub Kind = "github"
	GitLab Kind = "gitlab"
	Gitea  Kind = "gitea" // Forgejo's is the same
)

// Kinds lists every Kind.
func Kinds() []Kind { return []Kind{GitHub, GitLab, Gitea} }

// Place is a repository as a forge's API names it.
type Place struct {
	// URL is the base of the API: https, or http on a loopback host.
	URL string
	// Project is OWNER/REPO; on GitLab GROUP/…/PROJECT.
	Project string
}

// PlaceOf returns where the API of a repository's own host is, by the convention of its kind, and what it calls the repository. Both are to be named
// where a forge is installed elsewhere, such as below a path. NewClient checks them, since one of the two may be named and the other not. The errors
// do not repeat the address: it may hold credentials.
func PlaceOf(kind Kind, repo string) (Place, error) {
	u, err := address(repo)
	if err != nil {
		return Place{}, err
	}
	host, base := u.Host, url.URL{Scheme: "https"}
	switch u.Scheme {
	case "ssh": // its port is of ssh; two hosts take ssh under a name of its own
		host = map[string]string{"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}[u.Hostname()]
		if host == "" {
			host = bracketed(u.Hostname())
		}
	case "http":
		base.Scheme = "http"
	case "https":
	default:
		return Place{}, errors.New("the repository is not on a forge")
	}
	base.Host, base.Path = host, map[Kind]string{GitHub: "/api/v3", GitLab: "/api/v4", Gitea: "/api/v1"}[kind]
	p := Place{URL: base.String(), Project: strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")}
	if kind == GitHub && strings.EqualFold(host, "github.com") {
		p.URL = GitHubAPI
	}
	return p, nil
}

// address reads a repository's address as Git does.
func address(repo string) (*url.URL, error) {
	if !strings.Contains(repo, "://") {
		host, path, ok := strings.Cut(repo, ":")
		if !ok || strings.Contains(host, "/") {
			return nil, errors.New("the repository is not on a forge")
		}
		repo = "ssh://" + host + "/" + path
	}
	u, err := url.Parse(repo)
	if err != nil || u.Host == "" {
		return nil, errors.New("the repository is not on a forge")
	}
	return u, nil
}

func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// check returns what is wrong with a place, without asking anybody.
func (p Place) check(kind Kind) error {
	base, err := url.Parse(p.URL)
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return errors.New("the address of the API must be https://HOST/… and hold no credentials")
	}
	if base.Scheme != "https" && (base.Scheme != "http" || !loopback(base.Hostname())) {
		return fmt.Errorf("%s: linkwright uses the API only over https", base.Host)
	}
	parts := strings.Split(p.Project, "/")
	bad := func(s string) bool { return s == "" || s == "." || s == ".." }
	if len(parts) < 2 || kind != GitLab && len(parts) > 2 || slices.ContainsFunc(parts, bad) {
		return fmt.Errorf("%q is not a project of %s: want OWNER/REPO, on gitlab with all groups", p.Project, kind)
	}
	return nil
}

// Beside reports whether an API is the repository's own host's: there, and nowhere else, Git's credentials count, too.
func (p Place) Beside(kind Kind, repo string) bool {
	own, err := PlaceOf(kind, repo)
	return err == nil && sameHost(own.URL, p.URL)
}

func sameHost(a, b string) bool {
	u, errA := url.Parse(a)
	v, errB := url.Parse(b)
	return errA == nil && errB == nil && u.Scheme == v.Scheme && strings.EqualFold(u.Host, v.Host)
}
