package sync_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sync"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// many is a source and a registry of many providers, all of which are mirrored.
type many struct {
	versions []provider.Version
	tags     []string
	lists    atomic.Int64
}

func (m *many) Versions(context.Context, provider.Address) ([]provider.Version, error) {
	m.lists.Add(1)
	return m.versions, nil
}

func (m *many) Release(context.Context, provider.Address, provider.Version, ...provider.Platform) (provider.Release, error) {
	panic("a release is read")
}

func (m *many) Open(context.Context, provider.Package) (io.ReadCloser, int64, error) {
	panic("a zip is read")
}

// manyTags is one of the repositories. Everything except listing tags panics.
type manyTags struct {
	repository.Repository
	name string
	many *many
}

func (r manyTags) String() string { return r.name }

func (r manyTags) Tags(context.Context) ([]string, error) {
	r.many.lists.Add(1)
	return r.many.tags, nil
}

// BenchmarkPlan plans for 4,000 providers with 50 versions in two targets, without a network.
func BenchmarkPlan(b *testing.B) {
	m := &many{}
	for i := range 50 {
		v := nouns.Version(b, fmt.Sprintf("1.%d.0", i))
		m.versions, m.tags = append(m.versions, v), append(m.tags, v.String())
	}
	d := &sync.Declaration{Prune: &sync.Prune{KeepFor: day, MaxDelete: 20}}
	for _, name := range []string{"main", "dr"} {
		parsed, err := template.Parse("registry.example.org/" + name + "/{namespace}/{type}")
		if err != nil {
			b.Fatal(err)
		}
		d.Targets = append(d.Targets, sync.Target{Name: name, Template: parsed})
	}
	d.Targets[1].From = "main"
	o := sync.Options{
		Declaration: d, Check: repository.DepthTags, Source: m,
		Open: func(ref template.Reference) (repository.Repository, error) {
			return manyTags{name: ref.String(), many: m}, nil
		},
	}
	for i := range 4000 {
		a := nouns.Address(b, fmt.Sprintf("acme/rocket%d", i))
		o.Wanted = append(o.Wanted, sync.Wanted{
			Address: a, Settings: sync.Settings{Targets: []string{"main", "dr"}, MinAge: 7 * day},
			Requirements: []sync.Requirement{{Requirement: provider.Requirement{Address: a}}},
		})
	}
	for b.Loop() {
		m.lists.Store(0)
		started := time.Now()
		p, err := sync.NewPlan(b.Context(), o)
		if err != nil || p.Summary.Unchanged != 2*4000*50 || len(p.Actions) > 0 || m.lists.Load() != 3*4000 {
			b.Fatalf("%+v, %d lists, %v", p.Summary, m.lists.Load(), err)
		}
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		b.ReportMetric(float64(memory.HeapInuse>>20), "MB")
		b.ReportMetric(float64(time.Since(started).Microseconds())/4000, "µs/provider")
	}
}
