package probe

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/linkwright/linkwright/render/linkerd"
)

// Defaults of the Link's CRD (linkerd2 multicluster/charts/linkerd-multicluster/templates/link-crd.yaml).
const (
	defaultTimeout   = 30 * time.Second
	defaultThreshold = 3
)

// Spec is how a gateway is probed. The zero one is not at all.
type Spec struct {
	URL       string
	Period    time.Duration // from one probe to the next, give or take a tenth
	Timeout   time.Duration // of one probe
	Threshold int           // so many failures in a row mean that the gateway is dead
}

func (s Spec) isProbed() bool { return s.URL != "" }

// Fields are those of the probeSpec of a Link.
type Fields struct {
	linkerd.ProbeSpec

	Timeout          string `json:"timeout,omitempty"`
	FailureThreshold string `json:"failureThreshold,omitempty"`
}

// ParseSpec reads the probeSpec of a Link whose probe Service has a name. Without a path, or without a probeSpec, there is nothing to probe. An error
// names the field.
func ParseSpec(service string, p *Fields) (Spec, error) {
	if p == nil || p.Path == "" {
		return Spec{}, nil
	}
	port, err := number("port", p.Port, 0, 1<<16-1)
	if err != nil {
		return Spec{}, err
	}
	s := Spec{URL: (&url.URL{Scheme: "http", Host: net.JoinHostPort(service, strconv.Itoa(port)), Path: p.Path}).String()}
	if s.Period, err = duration("period", p.Period, 0); err != nil {
		return Spec{}, err
	}
	if s.Timeout, err = duration("timeout", p.Timeout, defaultTimeout); err != nil {
		return Spec{}, err
	}
	s.Threshold, err = number("failureThreshold", p.FailureThreshold, defaultThreshold, 1<<16)
	if err != nil {
		return Spec{}, err
	}
	return s, nil
}

// duration reads a field that must be a positive duration; empty: the default, unless that is 0.
func duration(field, text string, fallback time.Duration) (time.Duration, error) {
	if text == "" && fallback > 0 {
		return fallback, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("probeSpec.%s of the Link: %q is not a duration above zero, such as 3s", field, text)
	}
	return d, nil
}

// number reads a field that must be a number from 1 to most; empty: the default, unless that is 0.
func number(field, text string, fallback, most int) (int, error) {
	if text == "" && fallback > 0 {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("probeSpec.%s of the Link: %q is not a number from 1 to %d", field, text, most)
	}
	return n, nil
}
