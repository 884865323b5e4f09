package lease

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultsKeepOrder(t *testing.T) {
	tests := []struct{ in, want Lock }{
		{Lock{}, Lock{Duration: DefaultDuration, Renew: DefaultRenew, Retry: DefaultRetry}},
		{Lock{Duration: 30 * time.Second}, Lock{Duration: 30 * time.Second, Renew: 20 * time.Second, Retry: 4 * time.Second}},
		{Lock{Duration: 10 * time.Millisecond}, Lock{Duration: time.Second, Renew: time.Second * 2 / 3, Retry: time.Second * 2 / 3 / 5}},
		{
			Lock{Duration: 2 * time.Second, Renew: 3 * time.Second, Retry: 3 * time.Second},
			Lock{Duration: 2 * time.Second, Renew: 2 * time.Second * 2 / 3, Retry: 2 * time.Second * 2 / 3 / 5},
		},
		{Lock{Duration: time.Second, Renew: time.Second / 2, Retry: time.Second / 4}, Lock{Duration: time.Second, Renew: time.Second / 2, Retry: time.Second / 4}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.in.withDefaults()); diff != "" {
			t.Errorf("withDefaults(%+v): -want +got\n%s", tt.in, diff)
		}
	}
}
