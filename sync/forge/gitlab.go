package forge

import (
	"net/http"
	"net/url"
)

// gitlab: https://docs.gitlab.com/api/commits/#set-commit-pipeline-status. A token needs the scope api and the role
// Developer, or Maintainer where the branch is protected.
func (c *Client) gitlab(s Status) (path string, body map[string]string, header http.Header) {
	body = described(s)
	body["name"] = s.Context
	body["state"] = map[State]string{Pending: "pending", Success: "success", Failure: "failed", Error: "failed"}[s.State]
	return "/projects/" + url.PathEscape(c.place.Project) + "/statuses/" + url.PathEscape(string(s.Commit)), body,
		http.Header{"Accept": {"application/json"}}
}
