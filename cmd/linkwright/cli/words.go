package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// wordsKey marks a flag that takes one of a few words.
const wordsKey = "linkwright.dev/words"

// OneOf says which words a flag takes, for completion, the environment, the config file and its schema.
func OneOf(f *pflag.FlagSet, name string, words ...string) {
	annotate(f.Lookup(name), wordsKey, words...)
}

// Words are those that a flag takes; none: it takes any value of its type.
func Words(f *pflag.Flag) []string { return f.Annotations[wordsKey] }

// setTo sets a flag to a value that is not from the command line. The error says which values there are.
func setTo(f *pflag.Flag, value string) error {
	if words := Words(f); words != nil && value != f.DefValue && !slices.Contains(words, value) {
		return fmt.Errorf("%q: want one of %s%s", value, strings.Join(words, ", "), DidYouMean(value, words))
	}
	err := f.Value.Set(value)
	switch kind := f.Value.Type(); {
	case err != nil && kind == "bool":
		return fmt.Errorf("%q: want true or false", value)
	case err != nil && kind == "int":
		return fmt.Errorf("%q: want a whole number", value)
	}
	return err
}
