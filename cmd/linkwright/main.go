// Command linkwright keeps Linkerd multicluster links as a Git repository declares them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	_ "time/tzdata" // for CRON_TZ of a SyncPolicy, on systems without time zones

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/complete"
	"github.com/linkwright/linkwright/cmd/linkwright/decide"
	"github.com/linkwright/linkwright/cmd/linkwright/enroll"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/render/overlay"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/report"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == overlay.Child {
		os.Exit(overlay.Serve(os.Stdin, os.Stdout))
	}
	if err := harden(); err != nil {
		cli.Say(os.Stderr, "linkwright: warning: "+err.Error())
	}
	klog.SetLogger(logr.Discard()) // what client-go logs, errors say, too
	ctx, stop := live.Signals(context.Background(), os.Stderr)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program: arguments in, exit code out.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot() //nolint:contextcheck // ExecuteContext hands it to the commands
	completion(root)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return cli.ExitDone
	}
	if unread(err) {
		return live.ExitUnread
	}
	exit := exitOf(ctx, err)
	_, logged := errors.AsType[cli.Logged](exit.Err)
	twice := logged || exit.Shown && live.Same(stdout, stderr)
	if text := strings.TrimSpace(exit.Err.Error()); text != "" && !twice { // of errors that are joined, some may have no text
		cli.Say(stderr, report.Printable("linkwright: "+text))
	}
	return exit.Code
}

// exitOf is how the program ends after an error. After a signal, an error is what was left undone.
func exitOf(ctx context.Context, err error) cli.Exit {
	exit, ok := errors.AsType[cli.Exit](err)
	if exit.Err = err; !ok {
		exit.Code = cli.ExitError
	}
	if exit.Code == cli.ExitError && live.StoppedBy(ctx) != nil {
		exit.Shown = exit.Shown && errors.Is(err, sync.ErrInterrupted) // else the answer does not say it
		exit.Code, exit.Err = cli.ExitPartial, interrupted(ctx, err)
	}
	return exit
}

// unread says that nobody reads standard output any more. A broken connection to a server is another error.
func unread(err error) bool {
	file, ok := errors.AsType[*fs.PathError](err)
	return ok && file.Path == os.Stdout.Name() && errors.Is(file, syscall.EPIPE)
}

// interrupted is what a command failed with after a signal. That a request was canceled says no more than the signal does.
func interrupted(ctx context.Context, err error) error {
	_, stopped := errors.AsType[live.Stopped](err)
	switch {
	case errors.Is(err, sync.ErrInterrupted):
		return err
	case stopped || errors.Is(err, context.Canceled):
		return sync.Interrupted(ctx)
	}
	return fmt.Errorf("%w: %w", sync.Interrupted(ctx), err)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "linkwright",
		Short: "GitOps for Linkerd multicluster",
		Long: `GitOps for Linkerd multicluster. Flags are also variables: --config. Exit codes:
0 done, 1 diff, 2 error, 3 invalid, 4 not as declared, 5 lease held, 64 usage.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	root.SetFlagErrorFunc(wrongFlag)
	cli.AddConfig(root.PersistentFlags())
	root.SetUsageFunc(cli.Grouped(root.UsageFunc()))
	root.Version = versionString() // which adds --version
	root.SetVersionTemplate(versionLine(thisBuild()) + "\n")
	root.AddCommand(runCommand(), syncCommand(), renderCommand(), diffCommand(), approveCommand(), rotateCommand(), validateCommand(), schemaCommand(), explainCommand(), statusCommand(), getCommand(), describeCommand(), eventsCommand(), checkCommand(), rolloutCommand(), trustCommand(), mirrorCommand(), manCommand(), adoptCommand(), releaseCommand(), uninstallCommand(), versionCommand())
	root.SetHelpCommand(helpCommand())
	root.AddCommand(decide.Commands(linksRecorded)...)
	root.AddCommand(enroll.Commands()...)
	extended(root)
	complete.Register(root)
	for _, c := range commands(root) {
		c.Args = asUsage(ofCommand(c.Args))
		cli.ShowAs(c, cli.Program())
	}
	cli.ShowAs(root, cli.Program())
	colour := cli.AddColour(root)
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		err := cli.Preset(c)
		colour(c.OutOrStdout())
		return err
	}
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	root.Args = asUsage(unknown)
	return root
}

// completion adds cobra's command now, which cobra would do later, with the error of any other command for a shell that it does not know.
func completion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = asUsage(unknown)
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}

// commands are all below root.
func commands(root *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, c := range root.Commands() {
		out = append(append(out, c), commands(c)...)
	}
	return out
}

// unknown says that a command has no such command, and which it could be.
func unknown(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unknown command %q%s\nSee: %s --help", args[0], meantCommand(c, args[0]), c.CommandPath())
}

// meantCommand is the end of an error about a word that is none of the commands below one: similar commands, the one that takes such a word,
// or all if they are few.
func meantCommand(c *cobra.Command, word string) string {
	const few = 4
	if !c.HasParent() {
		return cli.DidYouMean(word, cli.Names(c))
	}
	if near, ok := api.Nearest(word, cli.Names(c)); ok {
		return "; did you mean " + near + "?"
	}
	pair, isPair := cli.ParsePair(strings.TrimPrefix(word, "link/")) // -o name writes link/SOURCE/TARGET
	var uses []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			uses = append(uses, sub.Use)
		}
		if isPair && strings.TrimSuffix(sub.Name(), "s") == "link" {
			return "; did you mean " + sub.CommandPath() + " " + pair.Name() + "?"
		}
	}
	if len(uses) > few {
		return ""
	}
	return "; want " + strings.Join(uses, " or ")
}

// wrongFlag says what is wrong with a flag, and which one it could be.
func wrongFlag(c *cobra.Command, err error) error {
	like := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		like = cli.DidYouMean("--"+unknown.GetSpecifiedName(), names)
	}
	if required, ok := errors.AsType[*pflag.ValueRequiredError](err); ok && required.GetFlag() != nil {
		like = ": " + required.GetFlag().Usage
		if mode, ok := required.GetFlag().Value.(*cli.DryRun); ok {
			like = ": " + mode.Wanted()
		}
	}
	return cli.Usage("%w%s\nSee: %s --help", err, like, c.CommandPath())
}

// ofCommand says how a command is typed, if its arguments are wrong.
func ofCommand(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if c.HasSubCommands() {
			return unknown(c, args)
		}
		if check == nil || check(c, args) == nil {
			return nil
		}
		got := "none"
		if len(args) > 0 {
			got = strings.Join(args, " ")
		}
		return fmt.Errorf("wrong arguments: %s\nUsage: %s\nSee: %s --help", got, c.UseLine(), c.CommandPath())
	}
}

// asUsage gives wrong arguments the exit code of wrong flags.
func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(c, args); err != nil {
			return cli.Usage("%w", err)
		}
		return nil
	}
}
