package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
)

// DidYouMean is the end of an error about a word that is not among those that there are; empty if none is like it.
func DidYouMean(word string, among []string) string {
	like := Similar(word, among)
	if len(like) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(like, " or ") + "?"
}

// Similar are the words that somebody may have meant: those that begin with the word, or else those near it by cobra's measure for names of
// commands. The nearest is first.
func Similar(word string, among []string) []string {
	if word == "" {
		return nil
	}
	begins := func(w string) bool { return strings.HasPrefix(w, strings.ToLower(word)) }
	if slices.ContainsFunc(among, begins) {
		return slices.DeleteFunc(slices.Clone(among), func(w string) bool { return !begins(w) })
	}
	measure := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range among {
		measure.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	like := measure.SuggestionsFor(word)
	if near, ok := api.Nearest(word, among); ok { // two swapped letters are one edit there
		like = append([]string{near}, slices.DeleteFunc(like, func(w string) bool { return w == near })...)
	}
	return like
}

// Names are the commands directly below one.
func Names(c *cobra.Command) []string {
	var out []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			out = append(out, sub.Name())
		}
	}
	return out
}
