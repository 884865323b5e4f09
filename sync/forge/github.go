package forge

import (
	"net/http"
	"net/url"
	"strings"
)

// github: https://docs.github.com/en/rest/commits/statuses. A token needs "Commit statuses: write" (classic: repo:status).
func (c *Client) github(s Status) (path string, body map[string]string, header http.Header) {
	body = described(s)
	body["state"], body["context"] = string(s.State), s.Context
	return "/repos/" + c.twoParts() + "/statuses/" + url.PathEscape(string(s.Commit)), body, http.Header{
		"Accept":               {"application/vnd.github+json"},
		"X-Github-Api-Version": {"2022-11-28"},
	}
}

// twoParts is OWNER/REPO, escaped apart.
func (c *Client) twoParts() string {
	owner, repo, _ := strings.Cut(c.place.Project, "/")
	return url.PathEscape(owner) + "/" + url.PathEscape(repo)
}

// described returns what all forges call the same.
func described(s Status) map[string]string {
	body := map[string]string{"description": s.Description}
	if s.URL != "" {
		body["target_url"] = s.URL
	}
	return body
}
