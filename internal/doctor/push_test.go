package doctor_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// writable is an image layout with a fixed result for the check for push access.
type writable struct {
	*stub
	err error
}

// refusing is a repository that refuses uploads.
type refusing struct {
	repository.Repository
	err error
}

func (r refusing) PushBlob(context.Context, ocispec.Descriptor, io.Reader) error { return r.err }

func (w writable) Capabilities() repository.Capabilities {
	return repository.Capabilities{Writable: func(context.Context) error { return w.err }}
}

// TestExamineRepository examines a repository without a CLI configuration.
func TestExamineRepository(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		at     string
		target bool
		read   error // returned when tags are listed
		push   error
		want   []string
	}{
		"from":                       {"quay.io/x/{type}", false, nil, nil, []string{}},
		"from, missing repository":   {"quay.io/x/{type}", false, repository.ErrNoRepository, nil, []string{"error repository-missing"}},
		"to":                         {"quay.io/x/{type}", true, nil, nil, []string{}},
		"to, no repository":          {"quay.io/x/{type}", true, repository.ErrNoRepository, nil, []string{"note repository-new"}},
		"to, unreadable":             {"quay.io/x/{type}", true, provider.ErrForbidden, provider.ErrForbidden, []string{"error login-missing", "error push-denied"}},
		"to, read only":              {"quay.io/x/{type}", true, nil, provider.ErrForbidden, []string{"error push-denied"}},
		"to, repository not created": {"quay.io/x/{type}", true, repository.ErrNoRepository, repository.ErrNoRepository, []string{"note repository-new", "error push-failed"}},
		"to, out of order":           {"quay.io/x/{type}", true, nil, errors.New("503"), []string{"error push-failed"}},
		"to a full disk":             {"oci-layout:mirror/{type}", true, nil, errors.New("full"), []string{"error push-failed"}},
		"no repository's name":       {"quay.io/X/{type}", true, nil, nil, []string{"error repository-name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, repo := options(t)
			o.Config, o.Installation = cliconfig.Config{}, nil
			at, err := template.Parse(test.at)
			if err != nil {
				t.Fatal(err)
			}
			repo.err = test.read
			o.Template, o.IsTarget, o.Push = &at, test.target, true
			o.Platform = provider.Platform{OS: "hurd", Arch: "ia64"}
			o.Repository = func(template.Reference) (repository.Reader, error) { return writable{repo, test.push}, nil }
			o.Target = func(template.Reference) (repository.Repository, error) {
				target := openProbed(t, registrytest.New(registrytest.Options{}), nil)
				if test.push != nil {
					target = refusing{target, test.push}
				}
				return target, nil
			}
			report, err := doctor.Examine(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, codes(report.Findings)); diff != "" {
				t.Error(diff)
			}
			if allowed := report.Push == "allowed"; allowed != (test.push == nil && name != "no repository's name") {
				t.Errorf("got push %q", report.Push)
			}
		})
	}
}
