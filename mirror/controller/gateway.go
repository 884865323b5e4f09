package controller

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/mirror"
)

// resolvePeriod is how often names of a gateway are resolved again, as in linkerd2 (-endpoint-refresh-period).
const resolvePeriod = time.Minute

// gateway is a gateway, and the gatewayAddress that it was resolved from.
type gateway struct {
	mirror.Gateway

	address  string
	resolved bool
}

// isOf reports whether the gateway is what a Link says.
func (g gateway) isOf(l link) bool { return g.resolved && g.address == l.Spec.GatewayAddress }

// resolveGateway resolves the gateway's names each minute, and at once after an edit, until ctx ends.
func (t *target) resolveGateway(ctx context.Context) {
	for {
		t.mu.Lock()
		address := t.link.Spec.GatewayAddress
		t.mu.Unlock()
		addresses, named, err := resolve(ctx, t.options.Resolve, address)
		if ctx.Err() != nil {
			return
		}
		t.setGateway(gateway{mirror.Gateway{Addresses: addresses, Err: err}, address, true})
		var again <-chan time.Time // never
		if named {
			again = time.After(resolvePeriod)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.moved:
		case <-again:
		}
	}
}

// setGateway takes over the addresses.
func (t *target) setGateway(g gateway) {
	t.mu.Lock()
	same := t.gateway.resolved && t.gateway.address == g.address && slices.Equal(t.gateway.Addresses, g.Addresses) && text(t.gateway.Err) == text(g.Err)
	t.gateway = g
	t.mu.Unlock()
	if !same {
		t.gatewayChanged()
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// resolve returns the IP addresses of a gateway, whose addresses and names are separated by commas, in order; and whether there are names.
func resolve(ctx context.Context, lookup func(context.Context, string) ([]string, error), gateway string) (out []string, named bool, err error) {
	var failures []error
	for one := range strings.SplitSeq(gateway, ",") {
		one = strings.TrimSpace(one)
		if one == "" {
			continue
		}
		if ip, err := netip.ParseAddr(one); err == nil {
			out = append(out, ip.String())
			continue
		}
		named = true
		ips, err := lookup(ctx, one)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", one, err))
		}
		out = append(out, ips...)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) == 0 {
		return nil, named, errors.Join(failures...)
	}
	return out, named, nil
}
