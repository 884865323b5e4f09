package forge

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
)

// ForHost refuses to send a token of the App to an API that is not the App's own: who has a token acts for it.
func (a *App) ForHost(api string) error {
	if own := cmp.Or(a.URL, GitHubAPI); !sameHost(own, api) {
		return fmt.Errorf("linkwright sends a token of GitHub App %d to %s, and not to %s: give another token, or the App's own API", a.ID, hostOf(own), hostOf(api))
	}
	return nil
}

// ForGit refuses to send a token of the App to a Git server that is not of the App's own forge.
func (a *App) ForGit(server string) error {
	if own := gitHost(hostOf(cmp.Or(a.URL, GitHubAPI))); !strings.EqualFold(own, server) {
		return fmt.Errorf("linkwright sends a token of GitHub App %d to %s, and not to %s: if that is the App's forge, give its API, https://%[3]s/api/v3", a.ID, own, server)
	}
	return nil
}

// gitHost returns where a forge serves Git, by where its API is: beside it, but for github.com and for enterprises at ghe.com.
func gitHost(api string) string {
	if bare, ok := strings.CutPrefix(api, "api."); ok && (bare == "github.com" || strings.HasSuffix(bare, ".ghe.com")) {
		return bare
	}
	return api
}

// hostOf returns an address's host without its port: Git and API may be at different ones.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}
