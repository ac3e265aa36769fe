package sync_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/gate"
	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
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
	*m.declaration.Gates() = gate.Gates{{Name: "scan", Command: []string{self, asGate, file}, Timeout: patience.Limit}}
	return func(answer string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(answer), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// applyGated plans and applies, and describes the results. Unlike apply, it permits that
// a gate prevents actions.
func (m *mirrored) applyGated(t *testing.T) string {
	t.Helper()
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
	return strings.Join(got, ", ")
}

// TestApplyGates checks that the decisions of gates apply to all targets, and that a
// release whose gate fails isn't copied to other targets.
func TestApplyGates(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]struct{ results, main, dr string }{
		`{"verdict":"allow"}`: {"mirror main 1.0.0, copy dr 1.0.0", "1.0.0", "1.0.0"},
		`{"verdict":"deny","reason":"contains GO-2024-0001"}`: {"skip main 1.0.0, hold dr 1.0.0", "", ""},
		`{"verdict":"hold","reason":"no owner"}`:              {"stage main pending-1.0.0, hold dr 1.0.0", "pending-1.0.0", ""},
		"crash":                                               {"mirror main 1.0.0 failed, copy dr 1.0.0 failed", "pending-1.0.0", ""},
	} {
		m := newMirrored(t, main, sync.Target{Name: "dr", From: "main"})
		m.publish(t, "rocket", "1.0.0")
		m.want(t, "rocket", sync.Settings{Latest: 1})
		m.gate(t)(answer)
		if diff := cmp.Diff(want.results, m.applyGated(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", answer, diff)
		}
		if got := m.tags(t, "main/rocket") + ", " + m.tags(t, "dr/rocket"); got != want.main+", "+want.dr {
			t.Errorf("%s: tags %s", answer, got)
		}
	}
}

// TestApplyKeepsPredecessors checks that versions that a gate holds don't displace the
// existing versions, no matter how often sync runs.
func TestApplyKeepsPredecessors(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main, sync.Target{Name: "dr", From: "main"})
	m.publish(t, "rocket", "1.0.0", "1.1.0")
	m.want(t, "rocket", sync.Settings{Latest: 2})
	m.declaration.Prune = &sync.Prune{Delete: true, KeepFor: day, MaxDelete: 20}
	decide := m.gate(t)
	decide(`{"verdict":"allow"}`)
	m.expect(t, "mirror main 1.1.0, copy dr 1.1.0, mirror main 1.0.0, copy dr 1.0.0")
	decide(`{"verdict":"hold","reason":"no owner"}`)
	m.publish(t, "rocket", "1.2.0", "1.3.0")
	m.source = nil
	run := func(want string) {
		t.Helper()
		m.now = m.now.Add(day)
		if got := m.applyGated(t); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	run("stage main pending-1.3.0, hold dr 1.3.0, stage main pending-1.2.0, hold dr 1.2.0")
	for range 3 {
		run("pending main pending-1.3.0, hold dr 1.3.0, pending main pending-1.2.0, hold dr 1.2.0")
	}
	decide(`{"verdict":"allow"}`)
	run("mirror main 1.3.0, copy dr 1.3.0, mirror main 1.2.0, copy dr 1.2.0")
	run("mark main 1.1.0, mark dr 1.1.0, mark main 1.0.0, mark dr 1.0.0")
}
