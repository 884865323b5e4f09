package testbed

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Request is one request that the API server answered, as it logged it.
type Request struct {
	Verb        string // get, list, watch, create, update, patch, delete, deletecollection
	Group       string // of the API, "" is core
	Resource    string // plural: services
	Subresource string // status, token, … or ""
	Namespace   string
	Name        string
	Code        int // HTTP status
	User        string
	// ImpersonatedUser is whom User acted as, or "".
	ImpersonatedUser string
	UserAgent        string
	Received         time.Time // by this machine's clock
}

// event is the part of an audit event that a Request is made of.
type event struct {
	AuditID   string `json:"auditID"`
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	User      struct {
		Username string `json:"username"`
	} `json:"user"`
	Impersonated *struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	Object *struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Status *struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Received time.Time `json:"requestReceivedTimestamp"`
}

// Requests gives what clients whose user agent begins with userAgentPrefix
// asked the API server for, in the order of the answers; a watch counts when
// it begins, and a request on Events or outside of resources (discovery,
// health) does not. A request that was answered is in it: the server writes
// its log first. The cluster's own components are never in it.
func (c *Cluster) Requests(userAgentPrefix string) ([]Request, error) {
	file, err := os.Open(c.auditLog)
	if err != nil {
		return nil, fmt.Errorf("read requests: %w", err)
	}
	requests, err := readRequests(file, userAgentPrefix)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("read requests of %s: %w", c.Name, err)
	}
	for i := range requests {
		requests[i].Received = requests[i].Received.Add(-c.ahead)
	}
	return requests, nil
}

// readRequests stops at an unfinished last line: the server is writing it.
func readRequests(r io.Reader, userAgentPrefix string) ([]Request, error) {
	var out []Request
	seen := map[string]bool{} // a watch has an event for its begin and its end
	lines := bufio.NewReaderSize(r, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		if seen[e.AuditID] || !strings.HasPrefix(e.UserAgent, userAgentPrefix) {
			continue
		}
		seen[e.AuditID] = true
		out = append(out, e.request())
	}
}

func (e event) request() Request {
	r := Request{Verb: e.Verb, User: e.User.Username, UserAgent: e.UserAgent, Received: e.Received}
	if e.Object != nil {
		r.Group, r.Resource, r.Subresource = e.Object.Group, e.Object.Resource, e.Object.Subresource
		r.Namespace, r.Name = e.Object.Namespace, e.Object.Name
	}
	if e.Impersonated != nil {
		r.ImpersonatedUser = e.Impersonated.Username
	}
	if e.Status != nil {
		r.Code = e.Status.Code
	}
	return r
}
