package verify_test

import (
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/verify"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// offerAs adds copies of the release with other versions to the origin.
func (w *world) offerAs(t *testing.T, versions ...string) {
	t.Helper()
	for _, v := range versions {
		r := w.release(t)
		r.Version = v
		for platform := range r.Archives {
			if platform != haiku {
				delete(r.Archives, platform)
			}
		}
		w.offer(t, r)
	}
}

// missing returns the finding about missing versions, or nil. A report contains at most
// one finding of this kind.
func (w *world) missing(t *testing.T, wanted []provider.Requirement, o verify.Options) *finding.Finding {
	t.Helper()
	o.Template = w.template
	report, err := verify.Repository(t.Context(), w.repo, wanted, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Failed {
		t.Errorf("%s %s: %v", f.Wanted, f.Version, f.Err)
	}
	var found *finding.Finding
	for _, f := range report.Findings {
		switch {
		case f.Code != "release-missing":
		case found != nil || f.Severity != finding.Warning || f.Subject.Version != "":
			t.Errorf("%+v", f)
		default:
			found = &f
		}
	}
	return found
}

// TestMissing checks that only versions that the requirements select are reported as
// missing. Pre-releases and pending, denied, or pruned versions are not reported.
func TestMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true) // contains 1.2.3
	w.offerAs(t, "0.9.0", "1.0.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0", "2.0.0-rc1")
	w.tagAs(t, artifact.PrunedTag(nouns.Version(t, "1.6.0")))
	w.tagAs(t, artifact.PendingTag(nouns.Version(t, "1.4.0")))
	w.tagAs(t, artifact.DeniedTag(nouns.Version(t, "1.5.0")))
	for name, test := range map[string]struct {
		wanted []string
		latest int
		want   []string
	}{
		"all":                  {[]string{""}, 0, []string{"1.3.0", "1.0.0", "0.9.0"}},
		"all of a line":        {[]string{"~> 1.0"}, 0, []string{"1.3.0", "1.0.0"}},
		"all newer ones":       {[]string{">= 1.2"}, 0, []string{"1.3.0"}},
		"the newest two":       {[]string{""}, 2, nil}, // these versions were pruned and denied
		"the newest four":      {[]string{""}, 4, []string{"1.3.0"}},
		"the newest of a line": {[]string{"< 1.4.0"}, 1, []string{"1.3.0"}},
		"the one that is":      {[]string{"1.2.3"}, 0, nil},
		"each once":            {[]string{"~> 1.2", "", "< 1.4.0"}, 0, []string{"1.3.0", "1.0.0", "0.9.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := w.missing(t, requirements(t, test.wanted...), verify.Options{Latest: test.latest, Origin: w.source()})
			if len(test.want) == 0 || f == nil {
				if f != nil || len(test.want) > 0 {
					t.Errorf("found %+v, want %q", f, test.want)
				}
				return
			}
			want := "tofu-oci mirror"
			for _, v := range test.want {
				want += " 'registry.example.org/acme/thing@" + v + "'"
			}
			if want += " --to '" + w.template.String() + "'"; f.Command != want || (f.Hint == "") != (test.latest > 0) {
				t.Errorf("the remedy is %q, want %q", f.Remedy, want)
			}
			if !strings.Contains(f.Message, strings.Join(test.want, ", ")) {
				t.Error(f.Message)
			}
		})
	}
	if f := w.missing(t, requirements(t, ""), verify.Options{}); f != nil {
		t.Errorf("without the origin: %+v", f)
	}
}

// TestManyMissing checks that the message lists the newest versions, and that the
// command mirrors all missing versions.
func TestManyMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	w.offerAs(t, "0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0")
	to := " --to '" + w.template.String() + "' "
	for latest, want := range map[int]string{
		0: "tofu-oci mirror 'registry.example.org/acme/thing' 'registry.example.org/acme/thing@< 1.0.0'" + to + "--all",
		8: "tofu-oci mirror 'registry.example.org/acme/thing' 'registry.example.org/acme/thing@< 1.0.0'" + to + "--latest 8",
	} {
		o := verify.Options{Latest: latest, Origin: w.source(), Template: w.template}
		report, err := verify.Repository(t.Context(), w.repo, requirements(t, "", "< 1.0.0"), o)
		if err != nil || len(report.Findings) != 1 || len(report.Failed) != 1 { // no version meets "< 1.0.0"
			t.Fatal(report, err)
		}
		if command := report.Findings[0].Command; command != want {
			t.Errorf("the remedy is %q, want %q", command, want)
		}
		problem := "The origin registry offers versions that are missing from the repository: 0.7.0, 0.6.0, 0.5.0, 0.4.0, 0.3.0 and 2 more."
		if report.Findings[0].Message != problem {
			t.Error(report.Findings[0].Message)
		}
	}
}
