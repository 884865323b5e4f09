package fault

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Request is what an API server is asked for.
type Request struct {
	// Verb as in an audit log; of what is no resource, the method in lower case.
	Verb string
	// Path without its query.
	Path string
	// What follows is "" where the path is no resource: discovery, health, version.
	Group, Version, Resource, Subresource string
	Namespace, Name                       string
	// Continued is a later page of a list; DryRun changes nothing.
	Continued, DryRun bool
}

// Of reads a request as an API server does, but for the long deprecated paths with /watch/ and /proxy/.
//
//	/api/v1/namespaces/NS/services/NAME/status     core
//	/apis/apps/v1/namespaces/NS/deployments/NAME   any other group
//	/api/v1/namespaces/NAME                        a Namespace itself, which lies in itself
//	/apis/apps/v1, /version                        no resource
func Of(method string, u *url.URL) Request {
	query := u.Query()
	r := Request{Verb: strings.ToLower(method), Path: u.Path, DryRun: query.Has("dryRun"), Continued: query.Get("continue") != ""}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		r.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		r.Group, r.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return r
	}
	r.place(parts)
	r.Verb = verb(method, r.Name != "", query)
	if one, ok := strings.CutPrefix(query.Get("fieldSelector"), "metadata.name="); ok && r.Name == "" {
		r.Name = one // of a collection that is narrowed to one
	}
	return r
}

// place reads what follows the version.
func (r *Request) place(parts []string) {
	if parts[0] == "namespaces" && len(parts) > 1 {
		r.Namespace = parts[1]
		if len(parts) > 2 && !slices.Contains([]string{"status", "finalize"}, parts[2]) {
			parts = parts[2:]
		}
	}
	r.Resource = parts[0]
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 {
		r.Subresource = parts[2]
	}
}

func verb(method string, named bool, query url.Values) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodDelete:
		if !named {
			return "deletecollection"
		}
	case http.MethodGet, http.MethodHead:
		switch watch := query.Get("watch"); {
		case watch == "1" || watch == "true":
			return "watch"
		case !named:
			return "list"
		}
		return "get"
	}
	return strings.ToLower(method)
}

// Writes reports whether it may change something.
func (r Request) Writes() bool {
	return !r.DryRun && slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

func (r Request) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Resource}
}
