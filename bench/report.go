package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"time"
)

// report prints the measurements: the arms, and the ratios in docs/explanation/performance.md.
func (c *benchmark) report(widths []int) {
	n := float64(len(c.objects[firstApply]))
	arms := []string{oneShotName, daemonName, fluxName}
	for _, w := range widths {
		arms = append(arms, rawName(w))
	}
	var rows [][]any
	for _, s := range []stage{firstApply, noChange, onePercent} {
		for _, name := range arms {
			costs := c.costs[name][s]
			if len(costs) == 0 {
				continue
			}
			rows = append(rows, []any{
				s, name, spread(seconds(costs), " s"), fmt.Sprintf("%.0f", n/median(seconds(costs))),
				perObject(costs, n), fmt.Sprintf("%.3f", float64(costs[len(costs)-1].requests["patch"])/n), costs[len(costs)-1].requests,
			})
		}
	}
	load, _ := os.ReadFile("/proc/loadavg") // without it, nothing is told of it
	fmt.Printf("\n%d objects of %d links, %d of which change; medians (least–most) of all rounds; load at the end %s\n\n",
		len(c.objects[firstApply]), c.links, c.changed, strings.TrimSpace(string(load)))
	if c.rewrites > 0 {
		fmt.Printf("%d of linkwright's PATCHes at the first apply are the second of a Linkerd Link: %.2f for each of them\n\n", c.rewrites, 1+float64(c.rewrites)/float64(c.links))
	}
	table([]any{"work", "arm", "wall", "objects/s", "client+API+etcd ms of CPU per object", "PATCHes per object", "last round's requests"}, rows)
	fmt.Println()
	c.reportRatios(widths)
}

func (c *benchmark) reportRatios(widths []int) {
	of := func(name string, s stage) []float64 { return seconds(c.costs[name][s]) }
	limit := c.best(widths)
	rows := [][]any{}
	for _, name := range []string{oneShotName, daemonName} {
		rows = append(rows,
			[]any{name, "first apply: rate ÷ that of the bare PATCH loop " + limit, spread(ratios(of(limit, firstApply), of(name, firstApply)), "")},
			[]any{name, "first apply: rate ÷ fluxcd/pkg/ssa's", spread(ratios(of(fluxName, firstApply), of(name, firstApply)), "")},
			[]any{name, "1 % changed: fluxcd/pkg/ssa's time ÷ ours", spread(ratios(of(fluxName, onePercent), of(name, onePercent)), "")})
	}
	rows = append(rows,
		[]any{oneShotName, "nothing changed: fluxcd/pkg/ssa's time ÷ ours", spread(ratios(of(fluxName, noChange), of(oneShotName, noChange)), "")},
		[]any{daemonName, "nothing changed: CPU of one pass", spread(idle(c.costs[daemonName][noChange]), " ms")})
	table([]any{"arm", "in one round", "median (least–most)"}, rows)
}

// best is the bare loop of the width that is fastest in the median: the fastest of each round would be the luckiest.
func (c *benchmark) best(widths []int) string {
	out, least := "", math.Inf(1)
	for _, w := range widths {
		if m := median(seconds(c.costs[rawName(w)][firstApply])); m > 0 && m < least {
			out, least = rawName(w), m
		}
	}
	return out
}

// idle is the processor time of one pass of a daemon that has nothing to do, in milliseconds.
func idle(costs []cost) []float64 {
	out := make([]float64, len(costs))
	for i, c := range costs {
		out[i] = float64(c.client) / float64(time.Millisecond) / idlePasses
	}
	return out
}

func seconds(costs []cost) []float64 {
	out := make([]float64, len(costs))
	for i, c := range costs {
		out[i] = c.wall.Seconds()
	}
	return out
}

// perObject is processor time by who used it, as medians.
func perObject(costs []cost, n float64) string {
	of := func(pick func(cost) time.Duration) float64 {
		out := make([]float64, len(costs))
		for i, c := range costs {
			out[i] = float64(pick(c)) / float64(time.Millisecond) / n
		}
		return median(out)
	}
	client := of(func(c cost) time.Duration { return c.client })
	server := of(func(c cost) time.Duration { return c.server })
	etcd := of(func(c cost) time.Duration { return c.etcd })
	return fmt.Sprintf("%.2f + %.2f + %.2f", client, server, etcd)
}
