package forge

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxWait bounds how long a server can make us wait.
const MaxWait = time.Hour

// Refusal is an answer that is no success. Of its body nothing is kept: it may repeat what was sent.
type Refusal struct {
	Code int
	// Wait is how long the server wants not to be asked again; zero where it does not say.
	Wait time.Duration
	// Limited says that we asked too often: 429, or 403 as GitHub puts it.
	Limited bool
}

// Error returns how it answered; what to do about it depends on what was asked.
func (r *Refusal) Error() string {
	text := fmt.Sprintf("the server answered %d", r.Code)
	switch {
	case r.Limited && r.Wait > 0:
		return fmt.Sprintf("%s: too many requests: linkwright must wait for %s", text, r.Wait)
	case r.Limited:
		return text + ": too many requests"
	case r.Code/100 == 3:
		return text + ": it has moved, and linkwright does not follow a redirect with credentials (use the new address)"
	}
	return text
}

// Refused reads an answer that is no success; now is when it came.
func Refused(r *http.Response, now time.Time) *Refusal {
	wait := After(r.Header.Get("Retry-After"), now)
	if wait == 0 && r.Header.Get("X-Ratelimit-Remaining") == "0" {
		if at, err := strconv.ParseInt(r.Header.Get("X-Ratelimit-Reset"), 10, 64); err == nil {
			wait = bounded(time.Unix(at, 0).Sub(now))
		}
	}
	limited := r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusForbidden &&
		(r.Header.Get("Retry-After") != "" || r.Header.Get("X-Ratelimit-Remaining") == "0")
	return &Refusal{Code: r.StatusCode, Wait: wait, Limited: limited}
}

// After reads a Retry-After header, seconds or a date, as a time from now: at most MaxWait, zero where it says nothing.
func After(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if s, err := strconv.ParseInt(header, 10, 64); err == nil {
		return bounded(time.Duration(min(max(s, 0), int64(MaxWait/time.Second))) * time.Second)
	}
	if at, err := http.ParseTime(header); err == nil {
		return bounded(at.Sub(now))
	}
	return 0
}

func bounded(d time.Duration) time.Duration { return min(max(d.Round(time.Second), 0), MaxWait) }

func loopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }
