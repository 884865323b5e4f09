package object

import (
	"strings"
	"testing"
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
		{"without a status", "Deployment", deployment(``), "its controller has not seen it yet", false},
		{"an earlier generation", "Deployment", deployment(`"observedGeneration":1,"replicas":2,"updatedReplicas":2,"availableReplicas":2`), "its controller has not seen the last change yet", false},
		{"being rolled out", "Deployment", deployment(`"observedGeneration":2,"replicas":3,"updatedReplicas":1,"availableReplicas":2`), "1 of 2 replicas are updated", false},
		{"old ones left", "Deployment", deployment(`"observedGeneration":2,"replicas":3,"updatedReplicas":2,"availableReplicas":3`), "1 old replicas are still there", false},
		{"none available", "Deployment", deployment(`"observedGeneration":2,"replicas":2,"updatedReplicas":2`), "0 of 2 replicas are available", false},
		{"not long enough", "Deployment", deployment(ready + `,"conditions":[{"type":"Available","status":"False","reason":"MinimumReplicasUnavailable"}]`), "Available is False: MinimumReplicasUnavailable", false},
		{"too late", "Deployment", deployment(`"observedGeneration":2,"replicas":2,"updatedReplicas":2,"conditions":[{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded","message":"ReplicaSet \"x\" has timed out progressing."}]`), `Progressing is False: ProgressDeadlineExceeded: ReplicaSet "x" has timed out progressing.`, true},
		{"no pods", "Deployment", deployment(`"observedGeneration":2,"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":"exceeded quota"}]`), "ReplicaFailure is True: FailedCreate: exceeded quota", false},
		{"no JSON", "Deployment", `{"metadata":`, "", false},

		{"without a status", "NetworkPolicy", `{"metadata":{"generation":2}}`, "", false},
		{"another's fields", "PodMonitor", other(``), "", false},
		{"an earlier generation", "Server", `{"metadata":{"generation":2},"status":{"observedGeneration":1}}`, "its controller has not seen the last change yet", false},
		{"ready", "Server", other(`{"type":"Ready","status":"True","observedGeneration":2}`), "", false},
		{"not ready", "Server", other(`{"type":"Ready","status":"False","reason":"NoPods"}`), "Ready is False: NoPods", false},
		{"not known", "Server", other(`{"type":"Available","status":"Unknown"}`), "Available is Unknown", false},
		{"ready of old", "Server", other(`{"type":"Ready","status":"True","observedGeneration":1}`), "Ready is of an earlier change", false},
		{"at work", "Server", other(`{"type":"Ready","status":"True"},{"type":"Reconciling","status":"True","message":"soon"}`), "Reconciling is True: soon", false},
		{"stalled", "Server", other(`{"type":"Reconciling","status":"True"},{"type":"Stalled","status":"True","reason":"Lost"}`), "Stalled is True: Lost", true},
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

// What others write is cut to a length, whatever it is.
func TestHealthIsShort(t *testing.T) {
	raw := `{"status":{"conditions":[{"type":"Ready","status":"False","message":"` + strings.Repeat("ä", 10_000) + `"}]}}`
	if got := HealthOf("Server", []byte(raw)).String(); len(got) > longest+30 || !strings.HasSuffix(got, "ä…") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
