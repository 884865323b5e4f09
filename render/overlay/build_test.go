package overlay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

// misbehavingChild is a child without a lock that does what the directory of its job says.
func misbehavingChild() int {
	var h hello
	if err := readFrame(os.Stdin, 1<<10, &h); err != nil {
		return 1
	}
	if err := writeFrame(os.Stdout, h.Bytes, ready{}); err != nil {
		return 1
	}
	for {
		var q request
		if err := readFrame(os.Stdin, h.Bytes, &q); err != nil {
			return 1
		}
		a := response{Number: q.Number}
		switch q.Job.Dir {
		case "hang":
			time.Sleep(time.Hour)
		case "crash":
			panic("a bug")
		case "flood":
			for {
				_, _ = os.Stdout.Write(bytes.Repeat([]byte{0xff}, 1<<16))
			}
		case "garbage":
			_, _ = os.Stdout.WriteString("\x00\x00\x00\x04what")
		case "babble":
			_, _ = os.Stderr.Write(bytes.Repeat([]byte("bla "), 1<<20))
			return 1
		case "replay":
			a.Number--
		case "objects":
			a.Built.Objects = slices.Repeat([]builtObject{{Body: json.RawMessage(`{}`)}}, h.Objects+1)
		case "origin":
			a.Built.Objects = []builtObject{{Body: json.RawMessage(`{}`), Origin: "../x"}}
		case "list":
			a.Built.Objects = []builtObject{{Body: json.RawMessage(`[]`)}}
		case "chosen":
			a.Built.Chosen = []bool{true}
		case "killed":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Hour)
		default:
			b, err := q.Job.runRecovered()
			if a.Built = b; err != nil {
				a.Error = err.Error()
			}
		}
		if err := writeFrame(os.Stdout, h.Bytes, a); err != nil {
			return 1
		}
	}
}

// smallJob is a job that gives one object.
func smallJob() job {
	return job{Files: map[string][]byte{
		"kustomization.yaml": []byte("resources: [a.yaml]\n"),
		"a.yaml":             []byte("apiVersion: v1\nkind: A\nmetadata: {name: a}\n"),
	}}
}

// heavyJob is a job that takes many seconds and much memory: the names of many objects are looked for in many others.
func heavyJob() job {
	var b strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: n%d}\ndata: {a: %s}\n", i, i%7, strings.Repeat("x", 100))
	}
	return job{Files: map[string][]byte{
		"kustomization.yaml": []byte("resources: [a.yaml]\nnamePrefix: x-\n"),
		"a.yaml":             []byte(b.String()),
	}}
}

// large is a job that takes much memory.
func large() job {
	j := smallJob()
	j.Files["a.yaml"] = []byte(strings.Repeat("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: c}\ndata: {a: "+strings.Repeat("x", 1000)+"}\n", 20_000))
	return j
}

func TestBuild(t *testing.T) {
	c := newCage(t, Options{})
	b, err := c.build(t.Context(), smallJob())
	if err != nil || len(b.Objects) != 1 {
		t.Errorf("build(one object): %+v, %v", b, err)
	}
}

func TestMisbehavingChild(t *testing.T) {
	hasty := newCage(t, Options{Arguments: []string{misbehavingChildEnv}, Children: 1, Limits: Limits{Time: 2 * time.Second}})
	patient := newCage(t, Options{Arguments: []string{misbehavingChildEnv}, Children: 1})
	for _, row := range []struct {
		how, want string
		blamed    bool
	}{
		{"hang", "it takes longer than 2s", true},
		{"crash", "panic: a bug", true},
		{"killed", "is out of memory", false},
		{"flood", "more than is allowed", false},
		{"garbage", "invalid character", false},
		{"babble", "bla bla", false},
		{"replay", "it answers job", false},
		{"objects", "at most 20000 are allowed", false},
		{"origin", "is not a file of the job", false},
		{"list", "is not a JSON object", false},
		{"chosen", "targets are answered", false},
	} {
		c := patient // on a machine with much to do, the others must not end by the limit
		if row.how == "hang" {
			c = hasty
		}
		_, err := c.build(t.Context(), job{Dir: row.how})
		if !errors.Is(err, errChild) || !strings.Contains(err.Error(), row.want) || len(err.Error()) > 5000 {
			t.Errorf("build(%s): -want +got\n-%s\n+%v", row.how, row.want, err)
		}
		if _, blamed := inputHint(err); blamed != row.blamed {
			t.Errorf("blames(%v): -want +got\n-%v\n+%v", err, row.blamed, blamed)
		}
		if _, err := c.build(t.Context(), smallJob()); err != nil {
			t.Errorf("build(a sound job after %s): %v", row.how, err)
		}
	}
}

// A child that was killed while it was idle costs the next job nothing but the time to start another one.
func TestIdleChildIsKilled(t *testing.T) {
	c := newCage(t, Options{Children: 1})
	for range 2 {
		if _, err := c.build(t.Context(), smallJob()); err != nil {
			t.Fatalf("build(): %v", err)
		}
		if err := c.idle[0].cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
}

// A missing lock is told once, however many children miss it.
func TestWarn(t *testing.T) {
	var warnings []string
	c := newCage(t, Options{Arguments: []string{misbehavingChildEnv}, Children: 1, Warn: func(text string) { warnings = append(warnings, text) }})
	for range 2 {
		if _, err := c.build(t.Context(), smallJob()); err != nil {
			t.Fatalf("build(): %v", err)
		}
		c.endIdle()
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "does not filter system calls") {
		t.Errorf("warnings of two children without a lock: %q", warnings)
	}
}

func TestBounds(t *testing.T) {
	for _, row := range []struct {
		name   string
		limits Limits
		job    job
		want   string
	}{
		{"memory", Limits{Memory: 80 << 20}, large(), "it needs more than 80 MiB of memory"},
		{"objects", Limits{Objects: 1}, job{Files: map[string][]byte{
			"kustomization.yaml": []byte("resources: [a.yaml]\n"),
			"a.yaml":             []byte("apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\napiVersion: v1\nkind: A\nmetadata: {name: b}\n"),
		}}, "2 objects: at most 1 are allowed"},
		{"frame", Limits{Bytes: 1}, job{Files: map[string][]byte{"a": make([]byte, 2<<20)}}, "more than is allowed"},
	} {
		t.Run(row.name, func(t *testing.T) { exceeds(t, newCage(t, Options{Limits: row.limits}), row.job, row.want) })
	}
}

// The time is of a build in a child that is there: on a busy machine its start alone may take longer, which is no error about the job.
func TestTimeBound(t *testing.T) {
	c := newCage(t, Options{Children: 1})
	if _, err := c.build(t.Context(), smallJob()); err != nil {
		t.Fatalf("build(a small job): %v", err)
	}
	c.options.Limits.Time = 300 * time.Millisecond
	exceeds(t, c, heavyJob(), "it takes longer than 300ms")
}

// exceeds expects that a job exceeds a limit, and that the error blames the job.
func exceeds(t *testing.T, c *Sandbox, j job, want string) {
	t.Helper()
	_, err := c.build(t.Context(), j)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("build(): -want +got\n-%s\n+%v", want, err)
	}
	if hint, blamed := inputHint(err); !blamed || hint == "" {
		t.Errorf("inputHint(%v): %v, hint %q", err, blamed, hint)
	}
}

func TestValidationBounds(t *testing.T) {
	deep, wide := fstest.MapFS{}, fstest.MapFS{}
	for i := range 20 {
		deep[fmt.Sprintf("d%d/kustomization.yaml", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "resources: [../d%d]\n", i+1)}
		both := &fstest.MapFile{Data: fmt.Appendf(nil, "resources: [../d%d, ../e%d]\n", i+1, i+1)}
		wide[fmt.Sprintf("d%d/kustomization.yaml", i)], wide[fmt.Sprintf("e%d/kustomization.yaml", i)] = both, both
	}
	deep["kustomization.yaml"] = &fstest.MapFile{Data: []byte("resources: [d0]\n")}
	wide["kustomization.yaml"] = &fstest.MapFile{Data: []byte("resources: [d6]\n")}
	none := &fstest.MapFile{Data: []byte("resources: []\n")}
	wide["d20/kustomization.yaml"], wide["e20/kustomization.yaml"] = none, none
	one := func(text string) fstest.MapFS {
		return fstest.MapFS{"kustomization.yaml": {Data: []byte("resources: [a.yaml]\n")}, "a.yaml": {Data: []byte(text)}}
	}
	for _, row := range []struct {
		name, want string
		tree       fstest.MapFS
	}{
		{"depth", "d14/kustomization.yaml:1:13: kustomizations are nested deeper than 16 levels", deep},
		{"files", "kustomization.yaml: the kustomization reads too much: 32768 files", wide},
		{"file", "kustomization.yaml:1:13: a.yaml is too large: at most 4 MiB are read (split the file)", one(strings.Repeat("#", maxFile+1))},
		{"values", "a.yaml: the file has too many values", one(strings.Repeat("- a\n", maxValues))},
		{"documents", "a.yaml: the file has too many values", one(strings.Repeat("---\n", maxValues/2))},
		{"nesting", "a.yaml:1:102: this is nested deeper than 100 levels", one(strings.Repeat("[", 200) + strings.Repeat("]", 200))},
	} {
		_, problems := newValidator(row.tree, Limits{}).validateRoot()
		if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), row.want) {
			t.Errorf("root(%s): -want +got\n-%s\n+%v", row.name, row.want, problems)
		}
	}
	_, problems := newValidator(one(strings.Repeat("#", 2000)), Limits{Bytes: 1000}).validateRoot()
	if want := "with a.yaml, the files are too large in total"; len(problems) != 1 || !strings.Contains(problems[0].Message, want) {
		t.Errorf("root(bytes): -want +got\n-%s\n+%v", want, problems)
	}
}

func TestCancel(t *testing.T) {
	c := newCage(t, Options{Arguments: []string{misbehavingChildEnv}, Children: 1})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := c.build(ctx, job{Dir: "hang"}); !errors.Is(err, context.Canceled) {
		t.Errorf("build(cancelled): %v", err)
	}
	if _, err := c.build(ctx, smallJob()); !errors.Is(err, context.Canceled) {
		t.Errorf("build(cancelled before): %v", err)
	}
}

func TestClose(t *testing.T) {
	c := New(Options{Arguments: []string{misbehavingChildEnv}})
	if _, err := c.build(t.Context(), smallJob()); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := c.build(context.Background(), job{Dir: "hang"}) // Close must end it, not the test
		done <- err
	}()
	for working := 0; working == 0; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		working = len(c.working)
		c.mu.Unlock()
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close(): %v", err)
	}
	if err := <-done; err == nil {
		t.Error("build(during Close): no error")
	}
	if _, err := c.build(t.Context(), smallJob()); !errors.Is(err, errClosed) {
		t.Errorf("build(after Close): %v", err)
	}
	if left := processes(t, os.Getpid()); len(left) > 0 {
		t.Errorf("processes after Close: %v", left)
	}
}

// heavyParent is a process whose child works until one of both is killed.
func heavyParent() int {
	_, err := New(Options{}).build(context.Background(), heavyJob())
	fmt.Println(err)
	return 0
}

// A child ends with its parent, also when that is killed and the child is at work.
func TestParentIsKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.CommandContext(t.Context(), self, brokenOff)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var children []int
	for len(children) == 0 {
		time.Sleep(10 * time.Millisecond)
		children = processes(t, parent.Process.Pid)
	}
	time.Sleep(200 * time.Millisecond) // it has its job
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	for deadline := time.Now().Add(5 * time.Second); alive(children[0]); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the child works on without its parent")
		}
	}
}

// processes are the children of a process, as the kernel lists them.
func processes(t *testing.T, parent int) (out []int) {
	lists, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", parent))
	if err != nil {
		t.Skip("this machine has no /proc")
	}
	for _, thread := range lists {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", parent, thread.Name()))
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// alive reports whether a process is there and no mere entry that nobody has asked for.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

func TestServeBadFrames(t *testing.T) {
	for name, in := range map[string]string{"nothing": "", "no JSON": "\x00\x00\x00\x01x", "too long": "\xff\xff\xff\xff"} {
		if code := Serve(strings.NewReader(in), io.Discard); code != childBroken {
			t.Errorf("Serve(%s): -want +got\n-%d\n+%d", name, childBroken, code)
		}
	}
}
