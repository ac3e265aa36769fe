package installation_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// configured returns the installation for a configuration.
func configured(t *testing.T, text string) *installation.Installation {
	t.Helper()
	config, err := cliconfig.Parse("rc", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := newWorld(t).options(nil)
	o.Config = config
	return install(t, o)
}

const mirrors = `provider_installation {
  dev_overrides {
    "acme/dev" = "/src/dev"
  }
  direct {
    exclude = ["acme/*"]
  }
  oci_mirror {
    repository_template = "ghcr.io/acme/${type}"
    include             = ["acme/*"]
    exclude             = ["acme/secret"]
  }
  oci_mirror {
    repository_template = "quay.io/${hostname}/${namespace}/${type}"
  }
}
`

func TestTarget(t *testing.T) {
	t.Parallel()
	i := configured(t, mirrors)
	for text, test := range map[string]struct{ want, at string }{
		"acme/thing":              {"ghcr.io/acme/thing", "rc:8:3"},
		"acme/dev":                {"ghcr.io/acme/dev", "rc:8:3"},
		"acme/secret":             {"quay.io/registry.opentofu.org/acme/secret", "rc:13:3"},
		"hashicorp/aws":           {"quay.io/registry.opentofu.org/hashicorp/aws", "rc:13:3"},
		"bücher.example/acme/dev": {"quay.io/xn--bcher-kva.example/acme/dev", "rc:13:3"},
	} {
		ref, m, err := i.Target(address(t, text))
		if err != nil || ref.String() != test.want || m.Position.String() != test.at {
			t.Errorf("%s: got %s by %s, %v; want %s by %s", text, ref, m, err, test.want, test.at)
		}
	}
	var bad *template.ReferenceError
	if _, _, err := i.Target(address(t, "localhost:8443/acme/thing")); !errors.As(err, &bad) {
		t.Errorf("a host that is not valid in a repository name: got %v", err)
	}
}

func TestTargetWithoutAMirror(t *testing.T) {
	t.Parallel()
	const want = `provider_installation {
  oci_mirror {
    repository_template = "registry.example.com/providers/${namespace}/${type}"
    include             = ["a.example/*/*"]
  }
  direct {
    exclude = ["a.example/*/*"]
  }
}
`
	for name, test := range map[string]struct{ config, at string }{
		"no block":                        {"", ""},
		"a block without an oci_mirror":   {"\nprovider_installation {\n  direct {}\n}", "rc:2:1"},
		"a mirror for other providers":    {"provider_installation {\n  oci_mirror {\n    repository_template = \"ghcr.io/${type}\"\n    include = [\"acme/*\"]\n  }\n}", "rc:1:1"},
		"another method for the provider": {"provider_installation {\n  network_mirror {\n    url = \"https://mirror.example/\"\n  }\n}", "rc:1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := configured(t, test.config)
			_, _, err := i.Target(address(t, "a.example/acme/thing"))
			var missing *installation.NoMirrorError
			if !errors.As(err, &missing) {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(want, missing.Block); diff != "" {
				t.Errorf("wrong block (-want +got):\n%s", diff)
			}
			if missing.Position.String() != test.at {
				t.Errorf("the block is at %q, want %q", missing.Position, test.at)
			}
			// The proposed block solves the problem.
			if _, _, err := configured(t, missing.Block).Target(address(t, "a.example/acme/thing")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	i := configured(t, mirrors)
	type step struct {
		kind    cliconfig.Kind
		matches bool
		pattern string
	}
	for text, want := range map[string][]step{
		"acme/thing":    {{cliconfig.Direct, false, "registry.opentofu.org/acme/*"}, {cliconfig.OCIMirror, true, "registry.opentofu.org/acme/*"}, {cliconfig.OCIMirror, true, ""}},
		"acme/secret":   {{cliconfig.Direct, false, "registry.opentofu.org/acme/*"}, {cliconfig.OCIMirror, false, "registry.opentofu.org/acme/secret"}, {cliconfig.OCIMirror, true, ""}},
		"acme/dev":      {{cliconfig.DevOverrides, true, ""}, {cliconfig.Direct, false, "registry.opentofu.org/acme/*"}, {cliconfig.OCIMirror, true, "registry.opentofu.org/acme/*"}, {cliconfig.OCIMirror, true, ""}},
		"hashicorp/aws": {{cliconfig.Direct, true, ""}, {cliconfig.OCIMirror, false, ""}, {cliconfig.OCIMirror, true, ""}},
	} {
		var got []step
		for _, s := range i.Explain(address(t, text)) {
			got = append(got, step{s.Method.Kind, s.Matches, s.Pattern.String()})
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(step{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	w := newWorld(t)
	steps := install(t, w.options(nil, w.packed(t, "packed", has{"1.0.0 " + haiku}).Path)).Explain(address(t, thing))
	if len(steps) != 2 || steps[0].Unless || !steps[1].Unless || !steps[1].Matches {
		t.Errorf("without a block: %v", steps)
	}
}
