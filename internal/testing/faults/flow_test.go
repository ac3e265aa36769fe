package faults_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

// flow is a command that a user runs. Each run starts with new state, like a new
// process.
type flow struct {
	name string
	// origin and registry report whether the flow uses the origin registry and the OCI
	// registry. If filled is set, the OCI registry must contain the releases.
	origin, registry, filled bool
	run                      func(ctx context.Context, t *testing.T, w *world) error
	// check verifies that the stored content is correct. If all is set, it also
	// verifies that the content is complete.
	check func(t *testing.T, w *world, all bool)
}

var flows = []flow{
	{"mirror to a registry", true, true, false, mirrorTo(inRegistry), checkRegistry},
	{"mirror to a layout", true, false, false, mirrorTo(inLayout), checkLayout},
	{"publish to a registry", false, true, false, publishTo(inRegistry), checkRegistry},
	{"pull zips from the origin", true, false, false, pullAs(pull.LayoutZip, fromOrigin), checkZips},
	{"unpack from the origin", true, false, false, pullAs(pull.LayoutUnpacked, fromOrigin), checkUnpacked},
	{"pull zips from a registry", false, true, true, pullAs(pull.LayoutZip, fromRegistry), checkZips},
	{"network mirror from a registry", false, true, true, pullAs(pull.LayoutNetwork, fromRegistry), checkNetwork},
	{"unpack from a registry", false, true, true, pullAs(pull.LayoutUnpacked, fromRegistry), checkUnpacked},
}

const inLayout, inRegistry = true, false

func mirrorTo(layout bool) func(context.Context, *testing.T, *world) error {
	return func(ctx context.Context, t *testing.T, w *world) error {
		t.Helper()
		client := w.client(t)
		var failed []error
		err := mirror.Run(ctx, origin.New(origin.Options{HTTP: client}), []provider.Requirement{{Address: address(t)}}, mirror.Options{
			Target: func(provider.Address) (repository.Repository, publish.Options, error) {
				return w.repository(t, client, layout), publish.Options{}, nil
			},
			Publisher: &publish.Publisher{TempDir: w.temp},
			OnResult:  func(r mirror.Result) { failed = append(failed, r.Err) },
		})
		return errors.Join(append(failed, err)...)
	}
}

func publishTo(layout bool) func(context.Context, *testing.T, *world) error {
	return func(ctx context.Context, t *testing.T, w *world) error {
		t.Helper()
		src, err := builddir.New(address(t), w.dist)
		if err != nil {
			t.Fatal(err)
		}
		versions, err := src.Versions(t.Context(), address(t))
		if err != nil {
			t.Fatal(err)
		}
		repo := w.repository(t, w.client(t), layout)
		p := &publish.Publisher{TempDir: w.temp}
		var failed []error
		for _, v := range versions {
			_, err := p.Release(ctx, src, repo, address(t), v, publish.Options{})
			failed = append(failed, err)
		}
		return errors.Join(failed...)
	}
}

func fromOrigin(t *testing.T, w *world) provider.Source {
	t.Helper()
	return origin.New(origin.Options{HTTP: w.client(t)})
}

func fromRegistry(t *testing.T, w *world) provider.Source {
	t.Helper()
	client := w.client(t)
	return oci.New(func(provider.Address) (repository.Reader, error) { return w.repository(t, client, inRegistry), nil })
}

func pullAs(layout pull.Layout, from func(*testing.T, *world) provider.Source) func(context.Context, *testing.T, *world) error {
	return func(ctx context.Context, t *testing.T, w *world) error {
		t.Helper()
		sink, err := pull.NewSink(layout, w.output, nil)
		if err != nil {
			t.Fatal(err)
		}
		var wanted []provider.Requirement
		for _, v := range w.goods.versions() {
			r, err := provider.ParseRequirement(address(t).String() + "@" + v)
			if err != nil {
				t.Fatal(err)
			}
			wanted = append(wanted, r)
		}
		var failed []error
		err = pull.Many(ctx, from(t, w), sink, wanted, pull.ManyOptions{
			Options:  pull.Options{Platforms: platforms},
			OnResult: func(p pull.Pulled) { failed = append(failed, p.Err) },
		})
		return errors.Join(append(failed, err)...)
	}
}
