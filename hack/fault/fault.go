// Package fault says what goes wrong between a client and an API server, and at which request: the words in which the
// proxy in front of real servers (hack/faultproxy) is told, without anything of HTTP but paths and codes.
package fault

import "time"

// Kind is what becomes of a request.
type Kind string

// Lists and watches name what is done to an answer; all else is done to any request.
//
//	kind         the server hears of it   the client gets
//	Pass         yes                      the answer
//	Refuse       no                       Code, as a metav1.Status
//	Fail         yes                      Code instead of the answer
//	ResetBefore  no                       a reset connection, and with it all else that is under way on it
//	ResetAfter   yes                      the same, when the server has answered
//	Hang         no                       nothing, until it gives up
//	Cut          yes                      half of the answer, then the end of the connection; of a watch, half an event
//	Forget       yes                      a page of a list without its continue token, as if it were the last
//	End          yes                      a watch that ends
//	Silence      yes                      a watch that shows nothing any more and does not end
//	Expire       yes                      a watch whose next event is the error 410
const (
	Pass        Kind = ""
	Refuse      Kind = "refuse"
	Fail        Kind = "fail"
	ResetBefore Kind = "reset before"
	ResetAfter  Kind = "reset after"
	Hang        Kind = "hang"
	Cut         Kind = "cut"
	Forget      Kind = "forget"
	End         Kind = "end"
	Silence     Kind = "silence"
	Expire      Kind = "expire"
)

// Fault is one thing that goes wrong.
type Fault struct {
	Kind Kind
	// Code of Refuse and Fail: 401, 403, 404, 409, 410, 422, 429, 500, 503, 504.
	Code int
	// RetryAfter is how many seconds a refusal asks for; 429 asks for at least one.
	RetryAfter int
	// Delay passes before the request goes on, whatever its kind, and before each event of a watch.
	Delay time.Duration
	// Events of a watch, bookmarks included, pass before it strikes.
	Events int
	// Before is called with the request before it goes on, After when the server has answered and the client has not
	// heard of it. To kill a process before its n-th request is Kind ResetBefore and Before, after it ResetAfter and After.
	Before, After func(Request)
}

// Always is Rule.Times without end.
const Always = -1

// Rule says which requests a fault strikes. The zero value of a field matches anything.
type Rule struct {
	// Verb as in an audit log: get, list, watch, create, update, patch, delete, deletecollection.
	Verb string
	// Resource in the plural, with or without its group: services, links.multicluster.linkerd.io.
	Resource                     string
	Namespace, Name, Subresource string
	// Path whole, without its query: also of what is no resource.
	Path string
	// Continued matches only later pages of a list.
	Continued bool
	// Nth match is the first that is struck, from 1; zero is 1.
	Nth int
	// Times it strikes from then on; zero is once.
	Times int
	Fault Fault
}
