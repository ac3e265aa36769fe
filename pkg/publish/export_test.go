package publish

import (
	"io"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// HeldForTest is what a tag holds, as a plan has to know it.
type HeldForTest struct {
	repository.Inspection
	Kept     provider.Release
	Restored []provider.Package
	Lost     []provider.Platform
}

// PlanForTest is a plan.
type PlanForTest struct {
	Status        Status
	Release       provider.Release
	Send, Dropped []provider.Platform
	Conflicts     []string
	Added         []string
}

// NewPlan plans.
func NewPlan(old HeldForTest, r provider.Release, force bool) PlanForTest {
	p := newPlan(held{Inspection: old.Inspection, foreign: foreign(old.Inspection, r.Address), kept: old.Kept, restored: old.Restored, lost: old.Lost}, r, force)
	return PlanForTest{Status: p.status, Release: p.release, Send: p.send, Dropped: p.dropped, Conflicts: p.conflicts, Added: p.added}
}

// NewGate makes a gate.
func NewGate(src io.Reader, open func() error) io.Reader { return &gate{src: src, open: open} }
