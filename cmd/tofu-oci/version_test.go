package main_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestBuildOf checks that the linker's values take precedence over Go's build
// information.
func TestBuildOf(t *testing.T) {
	t.Parallel()
	const revision = "559ac80f5a0cd3f8f3c2b1a0978675645342312f"
	checkout := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: revision}, {Key: "vcs.time", Value: "2026-11-22T09:00:00Z"}}
	type linked struct{ version, commit, date string }
	for _, test := range []struct {
		name     string
		linked   linked
		module   string
		settings []debug.BuildSetting
		want     string
	}{
		{
			"goreleaser", linked{"1.2.3", revision, "2026-11-22T10:00:00+01:00"}, "(devel)", nil,
			"tofu-oci version 1.2.3\ncommit    " + revision + "\ndate      2026-11-22T09:00:00Z\n",
		},
		{
			"make build", linked{"v1.2.3-4-g559ac80", revision, "2026-11-22T10:00:00+01:00"}, "v1.2.4-0.20261122090000-559ac80f5a0c", checkout,
			"tofu-oci version v1.2.3-4-g559ac80\ncommit    " + revision + "\ndate      2026-11-22T09:00:00Z\n",
		},
		{
			"go build with changes", linked{"dev", "", ""}, "v1.2.4-0.20261122090000-559ac80f5a0c+dirty", append(checkout, debug.BuildSetting{Key: "vcs.modified", Value: "true"}),
			"tofu-oci version 1.2.4-0.20261122090000-559ac80f5a0c+dirty\ncommit    " + revision + ", modified\ndate      2026-11-22T09:00:00Z\n",
		},
		{"go install of a version", linked{"dev", "", ""}, "v1.2.3", nil, "tofu-oci version 1.2.3\n"},
		{
			"go install of a commit", linked{"dev", "", ""}, "v0.0.0-20261122090000-559ac80f5a0c", nil,
			"tofu-oci version 0.0.0-20261122090000-559ac80f5a0c\n",
		},
		{"-buildvcs=false", linked{"dev", "", ""}, "(devel)", nil, "tofu-oci version dev\n"},
		{"a date of another form", linked{"1.2.3", "", "yesterday"}, "", nil, "tofu-oci version 1.2.3\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			info := &debug.BuildInfo{Main: debug.Module{Version: test.module}, Settings: test.settings}
			got := main.BuildOf(info, test.linked.version, test.linked.commit, test.linked.date).String()
			want := test.want + "go        " + runtime.Version() + "\nplatform  " + provider.CurrentPlatform().String() + "\n"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	if got := main.BuildOf(nil, "dev", "", ""); got.Version != "dev" || got.Go == "" {
		t.Errorf("without anything: %+v", got)
	}
}
