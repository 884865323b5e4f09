package main

import (
	"errors"
	"io"

	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/spf13/pflag"
)

// format is a flag that is checked when it is read.
type format struct {
	report.Format
	among []report.Format
}

func (f *format) String() string { return string(f.Format) }

func (f *format) Type() string { return "format" }

func (f *format) Set(word string) (err error) {
	f.Format, err = report.ParseFormat(word, f.among)
	return err
}

func (f *format) add(flags *pflag.FlagSet, among []report.Format) {
	f.Format, f.among = among[0], among
	flags.VarP(f, "output", "o", report.Enumerate(among))
}

// tell shows what a pass did, and gives its exit code.
func tell(w io.Writer, f report.Format, r report.Report, failed error) error {
	if err := r.Write(w, f); err != nil {
		return err
	}
	return verdict(r, failed)
}

// verdict turns a pass that was told into an exit code.
func verdict(r report.Report, failed error) error {
	switch {
	case errors.Is(failed, sync.ErrInvalid):
		return exit{exitInvalid, nil}
	case failed != nil:
		return exit{exitError, failed}
	case !r.Clean():
		return exit{exitPartial, nil}
	}
	return nil
}
