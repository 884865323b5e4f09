package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

// median of an odd or even number of values; they are not changed.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// spread is a median with least and most.
func spread(values []float64, unit string) string {
	if len(values) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g%s (%.3g–%.3g)", median(values), unit, slices.Min(values), slices.Max(values))
}

// ratios divides pair by pair: of one round.
func ratios(a, b []float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = a[i] / b[i]
	}
	return out
}

// quantile of values, p from 0 to 1.
func quantile(values []time.Duration, p float64) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))].Round(100 * time.Microsecond)
}

// table prints rows under a head, each row as wide as the head.
func table(head []any, rows [][]any) {
	w := tabwriter.NewWriter(os.Stdout, 2, 0, 2, ' ', 0)
	line(w, head)
	for _, r := range rows {
		line(w, r)
	}
	_ = w.Flush() // to standard output
}

func line(w io.Writer, cells []any) {
	for i, c := range cells {
		if i > 0 {
			_, _ = fmt.Fprint(w, "\t")
		}
		_, _ = fmt.Fprint(w, c)
	}
	_, _ = fmt.Fprintln(w)
}

// logf prints progress to stderr.
func logf(format string, a ...any) { fmt.Fprintf(os.Stderr, format+"\n", a...) }
