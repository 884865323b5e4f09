// Package cluster reads and writes one Kubernetes cluster. It knows nothing of Linkerd or of links.
package cluster

import (
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// defaultTimeout bounds one request with its body and all its attempts.
const defaultTimeout = 15 * time.Second

// Options are what all clusters of a registry share.
type Options struct {
	// Owner is the installation; default object.DefaultOwner.
	Owner string
	// Namespace is that of the installation's record, as commands that errors name give it; default the usual one.
	Namespace string
	// Timeout of one request, its body and its further attempts included; default 15 s.
	Timeout time.Duration
	// Wrap sees every request that goes out to a cluster, without its credentials.
	Wrap func(api.ClusterName, http.RoundTripper) http.RoundTripper
	// UserAgent defaults to linkwright/<owner>.
	UserAgent string

	name   api.ClusterName // of the cluster that is connected to
	notify func()          // of moves in it; it must not block
}

func (o Options) withDefaults() Options {
	if o.Owner == "" {
		o.Owner = object.DefaultOwner
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.UserAgent == "" {
		o.UserAgent = "linkwright/" + o.Owner
	}
	if o.notify == nil {
		o.notify = func() {}
	}
	return o
}

// Client reads and writes one cluster. It is safe for concurrent use and holds nothing but connections, what discovery
// told, and what the watches of Live show. Each layer embeds the one below it:
//
//	conn      sends requests, and decodes what they answer
//	mapper    knows where kinds are served
//	reader    reads: Observe
//	watcher   keeps watches open: Live
//	writer    writes; it is beside the watcher, which Client tells of each write
type Client struct {
	*watcher
	writer *writer
}

// conn is the connections to one cluster.
type conn struct {
	rest       rest.Interface
	direct     *direct
	streams    *http.Client // rest's, for answers that do not end
	http       *http.Transport
	server     string
	user       string // as userOf
	owner      string
	by         object.Installation // as commands that errors name give it
	timeout    time.Duration
	writeSlots chan struct{} // holds one for each write under way
	breaker    breaker
}

// mapper knows where kinds are served.
type mapper struct {
	*conn
	kinds kinds
}

// reader reads all of what is asked for, or nothing.
type reader struct{ *mapper }

// watcher keeps watches open, and what they show.
type watcher struct {
	*reader
	feeds *feeds
}

// writer makes changes. It does not know what watches show.
type writer struct {
	*reader
	dry bool // writes are sent with dryRun=All
}

// manager is linkwright's field manager.
func (c *conn) manager() string { return object.Manager(c.owner) }

// close ends the watches and gives up idle connections; a request still under way keeps its own until it ends.
func (c *Client) close() {
	c.feeds.close()
	c.http.CloseIdleConnections()
}
