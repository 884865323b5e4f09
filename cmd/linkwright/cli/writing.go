package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/access"
)

// DryRun says how far a command goes that writes:
//
//	none     it writes
//	client   it shows what it would write, and sends nothing
//	server   it also sends what it would write as a dry run, so that admission answers
type DryRun string

// Modes of a dry run.
const (
	DryRunNone   DryRun = "none"
	DryRunClient DryRun = "client"
	DryRunServer DryRun = "server"
)

func (d *DryRun) String() string { return string(*d) }

// Type implements pflag.Value.
func (d *DryRun) Type() string { return "mode" }

// Set implements pflag.Value.
func (d *DryRun) Set(word string) error {
	if !slices.Contains([]DryRun{DryRunNone, DryRunClient, DryRunServer}, DryRun(word)) {
		return errors.New(d.Wanted())
	}
	*d = DryRun(word)
	return nil
}

// Wanted says which values there are.
func (d *DryRun) Wanted() string {
	return "write --dry-run=client to show what would be written, or --dry-run=server to also have the API servers check it"
}

// Writing are the flags of every command that writes.
type Writing struct {
	Mode DryRun
	yes  bool
}

// Add adds the flags of a command that does not ask. It takes --yes, so that a script may give it to all commands, and needs it not.
func (w *Writing) Add(f *pflag.FlagSet) {
	w.AddAsking(f)
	f.Lookup("yes").Hidden = true
}

// AddAsking adds the flags of a command that asks before it writes.
func (w *Writing) AddAsking(f *pflag.FlagSet) {
	w.Mode = DryRunNone
	f.Var(&w.Mode, "dry-run", "none, client or server: write nothing; client shows what would be written, server also has the API servers check it")
	OneOf(f, "dry-run", texts([]DryRun{DryRunNone, DryRunClient, DryRunServer})...)
	w.AddConfirmation(f)
}

// AddConfirmation adds the flag of a command that asks, and has no dry run.
func (w *Writing) AddConfirmation(f *pflag.FlagSet) {
	f.BoolVarP(&w.yes, "yes", "y", false, "do not ask for a confirmation")
}

// Dry says that nothing is to be written.
func (w Writing) Dry() bool { return w.Mode == DryRunClient || w.Mode == DryRunServer }

// DryMode is the mode of a dry run; empty: it is none.
func (w Writing) DryMode() string {
	if w.Dry() {
		return string(w.Mode)
	}
	return ""
}

// Yes says that the command may write without a question.
func (w Writing) Yes() bool { return w.yes && !w.Dry() }

// Ended says, at the end of a dry run, that it was one.
func (w Writing) Ended(out io.Writer) {
	switch w.Mode {
	case DryRunClient:
		Say(out, "Nothing was written (client dry run): no write was sent.")
	case DryRunServer:
		Say(out, "Nothing was written (server dry run): the API servers checked each write.")
	}
}

// Would turns what a command did into what it would do.
func (w Writing) Would(did string) string {
	if w.Dry() {
		return "would be " + did
	}
	return did
}

// Recording gives how a change of the record is written: not at all in a dry run of the client, and by dryRun=All in one of the server. A write
// that has begun is finished also after a signal: the client limits how long it takes.
func (w Writing) Recording(h *access.ManagementCluster) func(context.Context, object.Change) error {
	switch w.Mode {
	case DryRunClient:
		return func(context.Context, object.Change) error { return nil }
	case DryRunServer:
		return h.DryRun
	}
	return func(ctx context.Context, c object.Change) error {
		_, err := h.Write(context.WithoutCancel(ctx), c)
		return err
	}
}

// Confirm asks on a terminal whether to go on. Without a terminal it gives the command that goes on without a question.
func (w Writing) Confirm(c *cobra.Command, question string) error {
	if w.Yes() {
		return nil
	}
	in, isFile := c.InOrStdin().(*os.File)
	if !isFile || !term.IsTerminal(int(in.Fd())) { //nolint:gosec // a descriptor is small
		return Exit{Code: ExitPartial, Err: fmt.Errorf("nothing was written: this needs a confirmation, and standard input is not a terminal; to go on, run:\n  %s --yes", again(c))}
	}
	_, _ = fmt.Fprintf(c.ErrOrStderr(), "%s [y/N] ", question)
	answered := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(in).ReadString('\n') // what ends without an answer is none
		answered <- answer
	}()
	select {
	case <-c.Context().Done():
		return Exit{Code: ExitPartial, Err: sync.Interrupted(c.Context())}
	case answer := <-answered:
		if slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
			return nil
		}
	}
	return Exit{Code: ExitPartial, Err: errors.New("nothing was written: you did not confirm it")}
}

// withoutLogin takes the password out of an address, and of https also a user without one, which is an access token.
func withoutLogin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address
	}
	if _, has := u.User.Password(); !has && strings.HasPrefix(u.Scheme, "http") {
		u.User = url.User("xxxxx")
	}
	return u.Redacted()
}

// again is how a command was typed, for a shell. Logins in addresses are left out.
func again(c *cobra.Command) string {
	words := append(strings.Fields(c.CommandPath()), c.Flags().Args()...)
	c.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			v = withoutLogin(v)
			if f.Value.Type() == "bool" {
				words = append(words, strings.TrimSuffix("--"+f.Name+"="+v, "=true"))
				continue
			}
			words = append(words, "--"+f.Name, v)
		}
	})
	for i, w := range words {
		words[i] = Quoted(w)
	}
	return strings.Join(words, " ")
}

// Quoted is a word as a shell reads it.
func Quoted(word string) string {
	if regexp.MustCompile(`^[\w@%+=:,./-]+$`).MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
