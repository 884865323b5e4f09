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

// Child is the first argument of a child process: with it, main calls Serve before anything else.
const Child = "build-in-sandbox"

// Exit codes of a child.
const (
	childDone   = 0
	childBroken = 2 // it does not understand its parent, or its bounds cannot be set
	childFull   = 3 // it holds more memory than it may
)

// Serve runs a child process: it enters the sandbox, runs one job after the other, and ends at once when
// its parent closes stdin or is gone. It returns the exit code.
func Serve(stdin io.Reader, stdout io.Writer) int {
	var h hello
	if err := readFrame(stdin, 1<<10, &h); err != nil {
		return fail("read limits", err)
	}
	runtime.GOMAXPROCS(2) // one builds, the other one collects
	debug.SetMemoryLimit(h.Memory / 4 * 3)
	locked, err := sandbox.Enter(sandbox.Limits{Memory: h.Memory, Seconds: h.Seconds})
	if err != nil {
		return fail("enter the sandbox", err)
	}
	if err := writeFrame(stdout, h.Bytes, ready{Locked: locked}); err != nil {
		return fail("write", err)
	}
	questions := make(chan request)
	go readRequests(stdin, h.Bytes, questions)
	loadSchemas()
	for q := range questions {
		if err := respond(stdout, h, q); err != nil {
			return fail("write", err)
		}
		if memoryInUse() > h.Memory/4 {
			debug.FreeOSMemory()
		}
	}
	return childDone
}

// loadSchemas makes kustomize load the schemas of Kubernetes, which take a large part of a first build. It must not run during a build.
func loadSchemas() {
	openapi.SchemaForResourceType(yaml.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"})
}

// readRequests reads while a job runs, so that it notices the end of the parent at once.
func readRequests(stdin io.Reader, limit int64, questions chan<- request) {
	for {
		var q request
		switch err := readFrame(stdin, limit, &q); {
		case errors.Is(err, io.EOF):
			os.Exit(childDone)
		case err != nil:
			os.Exit(fail("read job", err))
		}
		questions <- q
	}
}

func respond(stdout io.Writer, h hello, q request) error {
	a := response{Number: q.Number}
	done := make(chan struct{})
	go watchMemory(h.Memory, done)
	b, err := q.Job.runRecovered()
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
		err = writeFrame(stdout, h.Bytes, response{Number: q.Number, Exceeds: true, Error: "the result is too large: " + err.Error()})
	}
	return err
}

// runRecovered runs a job, and returns a panic of kustomize as an error.
func (j job) runRecovered() (b buildResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			b, err = buildResult{}, fmt.Errorf("kustomize panicked: %v", p)
		}
	}()
	return j.run()
}

// watchMemory ends the process when it uses more memory than allowed; a limit of the kernel applies later.
func watchMemory(limit int64, done <-chan struct{}) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			if memoryInUse() > limit {
				os.Exit(childFull)
			}
		}
	}
}

// memoryInUse is the memory that the process has and has not released.
func memoryInUse() int64 {
	const total, released = "/memory/classes/total:bytes", "/memory/classes/heap/released:bytes"
	s := []metrics.Sample{{Name: total}, {Name: released}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

func fail(doing string, err error) int {
	_, _ = fmt.Fprintf(os.Stderr, "%s: %v\n", doing, err)
	return childBroken
}
