package testbed

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// orphanEnv makes the test binary start a cluster, say where, and wait to be
// killed.
const orphanEnv = "TESTBED_ORPHAN_DIR"

// trace is what a cluster leaves behind if it does not clean up.
type trace struct {
	Dir  string
	PIDs []int
}

func traceOf(c *Cluster) trace {
	t := trace{Dir: c.Dir, PIDs: []int{c.process.cmd.Process.Pid}}
	for _, pid := range c.PIDs {
		t.PIDs = append(t.PIDs, pid)
	}
	return t
}

// gone is nil when no directory and no process is left.
func (t trace) gone() error {
	if _, err := os.Stat(t.Dir); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(errors.New("directory "+t.Dir+" is there"), err)
	}
	for _, pid := range t.PIDs {
		if state := processState(pid); state != "" && state != "Z" {
			return fmt.Errorf("process %d is there, state %s", pid, state)
		}
	}
	return nil
}

// processState is the letter that the kernel gives, or "" of no process.
func processState(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return rest[:1]
}

func orphan() int {
	bed, err := Start(context.Background(), Options{Names: []string{"orphan"}, Dir: os.Getenv(orphanEnv), Light: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(traceOf(bed.Clusters[0])); err != nil {
		return 1
	}
	select {}
}

func TestKilledParentLeavesNothing(t *testing.T) {
	Need(t)
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orphanEnv+"="+t.TempDir())
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("read trace: %v", err)
	}
	var left trace
	if err := json.Unmarshal(line, &left); err != nil {
		t.Fatal(err)
	}
	if left.gone() == nil {
		t.Fatalf("trace %+v is gone before the parent", left)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if err := poll(t.Context(), left.gone); err != nil {
		t.Error(err)
	}
}

func TestKilledSupervisorTakesItsChildrenAlong(t *testing.T) {
	Need(t)
	t.Parallel()
	c := startLight(t, "killed")
	left := traceOf(c)
	if err := c.Pause(); err != nil { // a stopped child must die too
		t.Fatal(err)
	}
	if err := c.process.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if err := poll(t.Context(), left.gone); err != nil {
		t.Error(err)
	}
}

func TestTermEndsACluster(t *testing.T) {
	Need(t)
	t.Parallel()
	c := startLight(t, "termed")
	left := traceOf(c)
	if err := c.process.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := poll(t.Context(), left.gone); err != nil {
		t.Error(err)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	Need(t)
	t.Parallel()
	c := startLight(t, "closed")
	left := traceOf(c)
	client := kubernetes.NewForConfigOrDie(c.Config)
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if err := left.gone(); err != nil {
		t.Error(err)
	}
	if _, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("a stopped cluster answers")
	}
	if err := c.Stop(); err != nil {
		t.Errorf("stop again: %v", err)
	}
}

func startLight(t *testing.T, name string) *Cluster {
	t.Helper()
	bed, err := Start(t.Context(), Options{Names: []string{name}, Dir: t.TempDir(), Light: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bed.Close() })
	return bed.Clusters[0]
}

func TestStartRefusesADirectoryInUse(t *testing.T) {
	Need(t)
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/mine/precious", 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Names: []string{"mine"}, Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("Start in a directory in use: %v, want: not empty", err)
	}
	if _, err := os.Stat(dir + "/mine/precious"); err != nil {
		t.Errorf("what was there: %v", err)
	}
}

func TestMissingBinariesTellWhatToDo(t *testing.T) {
	t.Setenv("LINKWRIGHT_BIN", t.TempDir())
	_, err := Start(t.Context(), Options{Names: []string{"a"}})
	if err == nil || !strings.Contains(err.Error(), "run make controlplane") {
		t.Errorf("Start without binaries: %v, want: run make controlplane", err)
	}
}
