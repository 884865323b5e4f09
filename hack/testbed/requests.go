package testbed

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
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

// Requests returns what clients whose user agent begins with userAgentPrefix
// asked the API server for, in the order of the answers; a watch counts when
// it begins, and a request on Events or outside of resources (discovery,
// health) does not. A request that was answered is in it: the server writes
// its log first. The cluster's own components are never in it.
func (c *Cluster) Requests(userAgentPrefix string) ([]Request, error) {
	c.audit.mu.Lock()
	defer c.audit.mu.Unlock()
	if err := c.audit.read(c.auditLog); err != nil {
		return nil, fmt.Errorf("read requests of %s: %w", c.Name, err)
	}
	var out []Request
	for _, r := range c.audit.all {
		if strings.HasPrefix(r.UserAgent, userAgentPrefix) {
			r.Received = r.Received.Add(-c.ahead)
			out = append(out, r)
		}
	}
	return out, nil
}

// audit is what was read of an API server's log so far. Tests ask often, and a
// log is long.
type audit struct {
	mu    sync.Mutex
	path  string
	size  int64     // that was read
	since time.Time // requests before are another's
	ids   map[string]bool
	all   []Request
}

// read goes on where it ended last.
func (a *audit) read(path string) (err error) {
	if a.path != path {
		a.path, a.size, a.ids, a.all = path, 0, map[string]bool{}, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Seek(a.size, io.SeekStart); err != nil {
		return err
	}
	return a.add(file)
}

// add stops at an unfinished last line: the server is writing it.
func (a *audit) add(r io.Reader) error {
	lines := bufio.NewReaderSize(r, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		a.size += int64(len(line))
		if !e.Received.Before(a.since) && !a.ids[e.AuditID] { // a watch has an event for its begin and its end
			a.ids[e.AuditID] = true
			a.all = append(a.all, e.request())
		}
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
