package sync_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/gate"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sync"
)

// asGate is the first argument that makes the test binary act as a gate, which prints the
// content of the file in the second argument.
const asGate = "sync-test-gate"

// gate declares a gate. decide changes its answer.
func (m *mirrored) gate(t *testing.T) (decide func(answer string)) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "answer")
	*m.declaration.Gates() = gate.Gates{{Name: "scan", Named: true, Command: []string{self, asGate, file}, Timeout: patience.Limit}}
	return func(answer string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(answer), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestApplyGates checks that the decisions of gates apply to all targets, and that a
// release whose gate fails isn't copied to other targets.
func TestApplyGates(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]struct{ results, main, dr string }{
		`{"verdict":"allow"}`: {"mirror main 1.0.0, copy dr 1.0.0", "1.0.0", "1.0.0"},
		`{"verdict":"deny","reason":"contains GO-2024-0001"}`: {"skip main 1.0.0, hold dr 1.0.0", "denied-1.0.0", ""},
		`{"verdict":"hold","reason":"no owner"}`:              {"stage main pending-1.0.0, hold dr 1.0.0", "pending-1.0.0", ""},
		"crash":                                               {"mirror main 1.0.0 failed, copy dr 1.0.0 failed", "pending-1.0.0", ""},
	} {
		m := newMirrored(t, main, sync.Target{Name: "dr", From: "main"})
		m.publish(t, "rocket", "1.0.0")
		m.want(t, "rocket", sync.Settings{Latest: 1})
		m.gate(t)(answer)
		p, o := m.plan(t)
		var got []string
		o.OnResult = func(r sync.Result) {
			line := fmt.Sprintf("%s %s %s", r.Action.Kind, r.Action.Target, r.Action.Tag)
			if r.Err != nil {
				line += " failed"
			}
			got = append(got, line)
		}
		if err := p.Apply(t.Context(), o); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want.results, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", answer, diff)
		}
		if got := m.tags(t, "main/rocket") + ", " + m.tags(t, "dr/rocket"); got != want.main+", "+want.dr {
			t.Errorf("%s: tags %s", answer, got)
		}
	}
}

// TestApplyDeniesExpired checks that a released version is denied after its allowance has
// expired only with on_expiry = "deny", and that the gate can lift this denial.
func TestApplyDeniesExpired(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main)
	m.publish(t, "rocket", "1.0.0")
	m.want(t, "rocket", sync.Settings{Latest: 1})
	decide := m.gate(t)
	decide(`{"verdict":"allow","expires":"2100-01-01"}`)
	m.expect(t, "mirror main 1.0.0")
	// 1. The allowance expires.
	repo := m.repository(t, "main/rocket")
	i, err := repository.Inspect(t.Context(), repo, "1.0.0", repository.DepthIndex)
	if err != nil {
		t.Fatal(err)
	}
	records, err := repository.Decisions(t.Context(), repo, i.Digest)
	if err != nil || len(records) != 1 {
		t.Fatalf("%+v, %v", records, err)
	}
	d := records[0].Decision
	d.Time, d.Expires = d.Time.Add(time.Millisecond), time.Now().Add(-time.Minute)
	if err := repository.Record(t.Context(), repo, d, i.Descriptor, nil); err != nil {
		t.Fatal(err)
	}
	m.expect(t, "hold main 1.0.0")
	// 2. It is denied.
	(*m.declaration.Gates())[0].DenyExpired = true
	if got, results := m.apply(t); got != "deny main 1.0.0" || results[0].Err != nil || m.tags(t, "main/rocket") != "denied-1.0.0" {
		t.Errorf("%s %+v, tags %s", got, results, m.tags(t, "main/rocket"))
	}
	denial, exists, err := repository.ReadDenial(t.Context(), repo, nouns.Version(t, "1.0.0"))
	if err != nil || !exists || denial.Kind != artifact.DecisionGate || denial.Gate != d.Gate || !strings.Contains(denial.Reason, "expired on") {
		t.Errorf("%+v %t %v", denial, exists, err)
	}
	// 3. The gate decides again.
	decide(`{"verdict":"deny","reason":"contains GO-2024-0001"}`)
	if got, _ := m.apply(t); got != "skip main 1.0.0" || m.tags(t, "main/rocket") != "denied-1.0.0" {
		t.Errorf("%s, tags %s", got, m.tags(t, "main/rocket"))
	}
	decide(`{"verdict":"allow","expires":"2100-01-01"}`)
	m.expect(t, "mirror main 1.0.0")
}
