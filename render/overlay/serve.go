package overlay

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/linkwright/linkwright/render/overlay/sandbox"
)

// Child is the first argument that makes a child of the program: its main calls Serve before it does anything else.
const Child = "build-in-a-cage"

// How a child ends.
const (
	childDone   = 0
	childBroken = 2 // it does not understand its parent, or its bounds cannot be set
	childFull   = 3 // it holds more memory than it may
)

// Serve is what a child does: it locks itself in, builds one job after the other, and ends, whatever it is doing, when
// its parent closes stdin or is gone. It gives the exit code.
func Serve(stdin io.Reader, stdout io.Writer) int {
	var h hello
	if err := readFrame(stdin, 1<<10, &h); err != nil {
		return broken("read limits", err)
	}
	runtime.GOMAXPROCS(2) // one builds, the other one collects
	debug.SetMemoryLimit(h.Memory / 4 * 3)
	locked, err := sandbox.Enter(sandbox.Limits{Memory: h.Memory, Seconds: h.Seconds})
	if err != nil {
		return broken("enter the sandbox", err)
	}
	if err := writeFrame(stdout, h.Bytes, ready{Locked: locked}); err != nil {
		return broken("write", err)
	}
	questions := make(chan question)
	go listen(stdin, h.Bytes, questions)
	warm()
	for q := range questions {
		if err := reply(stdout, h, q); err != nil {
			return broken("write", err)
		}
		if held() > h.Memory/4 {
			debug.FreeOSMemory()
		}
	}
	return childDone
}

// warm has kustomize read the schemas of Kubernetes: a good part of what a first build costs. It is not safe beside one.
func warm() { openapi.SchemaForResourceType(yaml.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}) }

// listen goes on reading while a job is built, so that the end of the parent is seen at once.
func listen(stdin io.Reader, limit int64, questions chan<- question) {
	for {
		var q question
		switch err := readFrame(stdin, limit, &q); {
		case errors.Is(err, io.EOF):
			os.Exit(childDone)
		case err != nil:
			os.Exit(broken("read job", err))
		}
		questions <- q
	}
}

func reply(stdout io.Writer, h hello, q question) error {
	a := answer{Number: q.Number}
	done := make(chan struct{})
	go watch(h.Memory, done)
	b, err := q.Job.attempt()
	close(done)
	switch {
	case err != nil:
		a.Error = err.Error()
	case len(b.Objects) > h.Objects:
		a.Exceeds, a.Error = true, fmt.Sprintf("%d objects: at most %d are allowed", len(b.Objects), h.Objects)
	default:
		a.Built = b
	}
	err = writeFrame(stdout, h.Bytes, a)
	if errors.Is(err, errFrameTooLong) {
		err = writeFrame(stdout, h.Bytes, answer{Number: q.Number, Exceeds: true, Error: "the result is too large: " + err.Error()})
	}
	return err
}

// attempt takes a panic of kustomize for the error that it is.
func (j job) attempt() (b built, err error) {
	defer func() {
		if p := recover(); p != nil {
			b, err = built{}, fmt.Errorf("kustomize panicked: %v", p)
		}
	}()
	return j.run()
}

// watch ends the process when it holds more memory than it may; where the kernel bounds it too, that comes later.
func watch(limit int64, done <-chan struct{}) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			if held() > limit {
				os.Exit(childFull)
			}
		}
	}
}

// held is the memory that the process has and has not given back.
func held() int64 {
	const total, released = "/memory/classes/total:bytes", "/memory/classes/heap/released:bytes"
	s := []metrics.Sample{{Name: total}, {Name: released}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

func broken(doing string, err error) int {
	_, _ = fmt.Fprintf(os.Stderr, "%s: %v\n", doing, err)
	return childBroken
}
