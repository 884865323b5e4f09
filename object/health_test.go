package object

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

func TestHealthOf(t *testing.T) {
	const ready = `"observedGeneration":2,"replicas":2,"updatedReplicas":2,"availableReplicas":2`
	deployment := func(status string) string {
		return `{"metadata":{"generation":2},"spec":{"replicas":2},"status":{` + status + `}}`
	}
	other := func(conditions string) string {
		return `{"metadata":{"generation":2},"spec":{"replicas":{"any":"thing"}},"status":{"replicas":"x","conditions":[` + conditions + `]}}`
	}
	tests := []struct {
		name, kind, raw, want string
		failed                bool
	}{
		{"ready", "Deployment", deployment(ready), "", false},
		{"ready, and says so", "Deployment", deployment(ready + `,"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]`), "", false},
		{"of one replica", "Deployment", `{"metadata":{"generation":1},"spec":{},"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"availableReplicas":1}}`, "", false},
		{"of none", "Deployment", `{"metadata":{"generation":1},"spec":{"replicas":0},"status":{"observedGeneration":1}}`, "", false},
		{"without a status", "Deployment", deployment(``), "its controller has not processed it yet", false},
		{"an earlier generation", "Deployment", deployment(`"observedGeneration":1,"replicas":2,"updatedReplicas":2,"availableReplicas":2`), "its controller has not processed the last change yet", false},
		{"being rolled out", "Deployment", deployment(`"observedGeneration":2,"replicas":3,"updatedReplicas":1,"availableReplicas":2`), "1 of 2 replicas are updated", false},
		{"old ones left", "Deployment", deployment(`"observedGeneration":2,"replicas":3,"updatedReplicas":2,"availableReplicas":3`), "1 old replicas are still there", false},
		{"none available", "Deployment", deployment(`"observedGeneration":2,"replicas":2,"updatedReplicas":2`), "0 of 2 replicas are available", false},
		{"not long enough", "Deployment", deployment(ready + `,"conditions":[{"type":"Available","status":"False","reason":"MinimumReplicasUnavailable"}]`), "Available is False: MinimumReplicasUnavailable", false},
		{"too late", "Deployment", deployment(`"observedGeneration":2,"replicas":2,"updatedReplicas":2,"conditions":[{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded","message":"ReplicaSet \"x\" has timed out progressing."}]`), `Progressing is False: ProgressDeadlineExceeded: ReplicaSet "x" has timed out progressing.`, true},
		{"no pods", "Deployment", deployment(`"observedGeneration":2,"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":"exceeded quota"}]`), "ReplicaFailure is True: FailedCreate: exceeded quota", false},
		{"no JSON", "Deployment", `{"metadata":`, "", false},

		{"without a status", "NetworkPolicy", `{"metadata":{"generation":2}}`, "", false},
		{"another's fields", "PodMonitor", other(``), "", false},
		{"an earlier generation", "Server", `{"metadata":{"generation":2},"status":{"observedGeneration":1}}`, "its controller has not processed the last change yet", false},
		{"ready", "Server", other(`{"type":"Ready","status":"True","observedGeneration":2}`), "", false},
		{"not ready", "Server", other(`{"type":"Ready","status":"False","reason":"NoPods"}`), "Ready is False: NoPods", false},
		{"not known", "Server", other(`{"type":"Available","status":"Unknown"}`), "Available is Unknown", false},
		{"ready of old", "Server", other(`{"type":"Ready","status":"True","observedGeneration":1}`), "condition Ready is from before the last change", false},
		{"at work", "Server", other(`{"type":"Ready","status":"True"},{"type":"Reconciling","status":"True","message":"soon"}`), "Reconciling is True: soon", false},
		{"stalled", "Server", other(`{"type":"Reconciling","status":"True"},{"type":"Stalled","status":"True","reason":"Lost"}`), "Stalled is True: Lost", true},
		{"a field that is called much like it", "Server", `{"Status":{"conditions":[{"type":"Ready","status":"False"}]}}`, "", false},
		{"an unknown condition", "Server", other(`{"type":"Accepted","status":"False"}`), "", false},
	}
	for _, tt := range tests {
		got := HealthOf(tt.kind, []byte(tt.raw))
		if got.String() != tt.want || got.Failed() != tt.failed || got.IsZero() != (tt.want == "") {
			t.Errorf("HealthOf(%s, %s): %q, failed %t, want %q, %t", tt.kind, tt.name, got, got.Failed(), tt.want, tt.failed)
		}
		if again := HealthOf(tt.kind, []byte(tt.raw)); again != got {
			t.Errorf("HealthOf(%s, %s): not comparable", tt.kind, tt.name)
		}
	}
}

// What others write is cut to a length, whatever of it is long.
func TestHealthIsShort(t *testing.T) {
	long := strings.Repeat("ä", 10_000)
	for _, field := range []string{"status", "reason", "message"} {
		condition, err := json.Marshal([]map[string]string{{"type": "Ready", "status": "False", field: long}})
		if err != nil {
			t.Fatal(err)
		}
		got := HealthOf("Server", []byte(`{"status":{"conditions":`+string(condition)+`}}`)).String()
		if len(got) > maxConditionBytes+len("…") || !strings.HasSuffix(got, "ä…") {
			t.Errorf("a long %s: %d bytes: %s", field, len(got), got)
		}
	}
}

// As large as an object can be in etcd, and half as large again: whatever it is made of, it is judged at once.
func TestHealthOfMuchIsFast(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures time: make unraced")
	}
	const size = 2 << 20
	many := func(head, one, tail string) string { return head + strings.Repeat(one, size/len(one)) + tail }
	for name, raw := range map[string]string{
		"conditions":         many(`{"status":{"conditions":[`, `{"type":"x"},`, `{"type":"Ready","status":"False"}]}}`),
		"the same condition": many(`{"status":{"conditions":[`, `{"type":"Ready","status":"True"},`, `{"type":"Ready","status":"False"}]}}`),
		"a message":          many(`{"status":{"conditions":[{"type":"Ready","status":"False","message":"`, `\u00e4`, `"}]}}`),
		"depth":              many(`{"spec":{"replicas":`, `[`, ``),
		"depth that ends":    `{"spec":{"replicas":` + strings.Repeat(`[`, 9_000) + strings.Repeat(`]`, 9_000) + `}}`,
		"fields":             many(`{`, `"status":{},`, `"status":{}}`),
		"digits":             many(`{"status":{"replicas":`, `9`, `}}`),
	} {
		for _, kind := range []string{"Deployment", "Server"} {
			begun := used(t)
			got := HealthOf(kind, []byte(raw)).String()
			if took := used(t) - begun; took > 2*time.Second || len(got) > 2*maxConditionBytes {
				t.Errorf("HealthOf(%s, %s): %s, %d bytes", kind, name, took, len(got))
			}
		}
	}
}

// used is the processor time of this process so far.
func used(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// Whatever the JSON, it is judged; short, valid words say it, and in which order fields stand decides nothing.
func FuzzHealthOf(f *testing.F) {
	f.Add("Deployment", []byte(`{"metadata":{"generation":2},"spec":{"replicas":2},"status":{"observedGeneration":2,"replicas":3,"updatedReplicas":2,"availableReplicas":1}}`))
	f.Add("Deployment", []byte(`{"metadata":{"generation":1},"spec":{"replicas":1e400},"status":{"observedGeneration":1,"updatedReplicas":-9223372036854775808}}`))
	f.Add("Deployment", []byte(`{"status":{"observedGeneration":0,"conditions":[{"type":"Progressing","reason":"ProgressDeadlineExceeded","status":"False"},{"type":"ReplicaFailure","status":"True"}]}}`))
	f.Add("Server", []byte(`{"status":{"conditions":[{"type":"Ready","status":"False","message":"\ud800"},{"type":"Stalled","status":"True"}]},"Status":{"conditions":[]}}`))
	f.Add("Server", []byte(`{"metadata":{"generation":7,"Generation":8},"status":{"conditions":[{"type":"Available","status":"True","observedGeneration":6}]}}`))
	f.Add("Server", []byte(`{"status":`))
	f.Fuzz(func(t *testing.T, kind string, raw []byte) {
		got := HealthOf(kind, raw)
		if s := got.String(); len(s) > maxConditionBytes+len("…") || !utf8.ValidString(s) || got.IsZero() != (s == "") {
			t.Errorf("HealthOf(%s, %s): %q, zero %t", kind, raw, s, got.IsZero())
		}
		v, err := decodeValue(raw)
		if !json.Valid(raw) || err != nil {
			if !got.IsZero() {
				t.Errorf("HealthOf(%s, %s): %q of no JSON", kind, raw, got)
			}
			return
		}
		up, down := ordered(t, v, false), ordered(t, v, true)
		if up, down := HealthOf(kind, up), HealthOf(kind, down); up != down {
			t.Errorf("HealthOf(%s, %s): %q, and %q with its fields the other way round", kind, raw, up, down)
		}
	})
}

// ordered writes decoded JSON with the fields of each object sorted, or the other way round.
func ordered(t *testing.T, v any, down bool) []byte {
	var b bytes.Buffer
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		if down {
			slices.Reverse(names)
		}
		for _, name := range names {
			b.WriteByte(',')
			b.Write(ordered(t, name, down))
			b.WriteByte(':')
			b.Write(ordered(t, v[name], down))
		}
		return slices.Concat([]byte("{"), bytes.TrimPrefix(b.Bytes(), []byte(",")), []byte("}"))
	case []any:
		for _, one := range v {
			b.WriteByte(',')
			b.Write(ordered(t, one, down))
		}
		return slices.Concat([]byte("["), bytes.TrimPrefix(b.Bytes(), []byte(",")), []byte("]"))
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
