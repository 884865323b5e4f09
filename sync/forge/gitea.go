package forge

import (
	"net/http"
	"net/url"
)

// gitea: POST /repos/{owner}/{repo}/statuses/{sha} of https://docs.gitea.com/api; Forgejo's is the same. A token needs
// write:repository.
func (c *Client) gitea(s Status) (path string, body map[string]string, header http.Header) {
	body = described(s)
	body["state"], body["context"] = string(s.State), s.Context
	return "/repos/" + c.twoParts() + "/statuses/" + url.PathEscape(string(s.Commit)), body, http.Header{"Accept": {"application/json"}}
}
