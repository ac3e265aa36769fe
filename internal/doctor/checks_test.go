package doctor_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func TestCheckCredentials(t *testing.T) {
	t.Parallel()
	found := doctor.Login{Found: true, Source: "somewhere", Why: "OpenTofu doesn't read it"}
	unread, helper := found, found
	unread.Unread, unread.Files = true, []string{"/a", "/b"}
	helper.Helper = "pass"
	tests := map[string]struct {
		login    doctor.Login
		registry string
		needed   bool
		want     []string
		remedy   string
	}{
		"none":   {doctor.Login{OpenTofu: true}, "ghcr.io", true, []string{}, ""},
		"same":   {doctor.Login{Found: true, OpenTofu: true}, "ghcr.io", true, []string{}, ""},
		"broken": {doctor.Login{Err: errors.New("no such helper")}, "ghcr.io", false, []string{"error login-broken"}, "tofu-oci login ghcr.io"},
		"fault":  {doctor.Login{Err: errors.New("not JSON"), Fault: "/a"}, "ghcr.io", false, []string{"error login-broken"}, "correct /a"},
		"stops":  {doctor.Login{Why: "OpenTofu fails", Fault: "/a"}, "ghcr.io", false, []string{"error login-stops-opentofu"}, "correct /a"},
		"public": {found, "ghcr.io", false, []string{"warning login-unknown-to-opentofu"}, `oci_credentials "ghcr.io" {`},
		"needed": {found, "ghcr.io", true, []string{"error login-unknown-to-opentofu"}, `oci_credentials "ghcr.io" {`},
		"theirs": {doctor.Login{Why: "OpenTofu finds it"}, "ghcr.io", false, []string{"warning login-unknown-to-opentofu"}, `oci_credentials "ghcr.io" {`},
		"hub":    {found, "docker.io", true, []string{"error login-unknown-to-opentofu"}, `oci_credentials "registry-1.docker.io" {`},
		"file":   {unread, "ghcr.io", true, []string{"error login-file-not-read"}, `docker_style_config_files = ["/a", "/b"]`},
		"helper": {helper, "ghcr.io", true, []string{"error login-helper-key"}, `"https://ghcr.io"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			findings := doctor.CheckLogin(test.login, test.registry, test.needed)
			if diff := cmp.Diff(test.want, codes(findings)); diff != "" {
				t.Fatal(diff)
			}
			if len(findings) == 1 && !strings.Contains(findings[0].Hint+findings[0].Command, test.remedy) {
				t.Errorf("the remedy is %+v\nwant %s", findings[0].Remedy, test.remedy)
			}
		})
	}
}

func TestCheckTags(t *testing.T) {
	t.Parallel()
	to, err := template.Parse("ghcr.io/acme/{type}")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		tags   []string
		source string
		want   []string
	}{
		"good":                       {[]string{"1.2.3", "1.3.0-beta1", "1.3.0_meta", "latest", "sha256-abc"}, "acme/x", []string{}},
		"short and newest":           {[]string{"1.2.3", "1.3"}, "acme/x", []string{"error tag-without-version"}},
		"short and old":              {[]string{"1.2.3", "1.1"}, "acme/x", []string{"warning tag-without-version"}},
		"short, not wanted":          {[]string{"1.2.3", "2"}, "acme/x@~> 1.0", []string{"warning tag-without-version"}},
		"short in addition to full":  {[]string{"1.3.0", "1.3"}, "acme/x", []string{}},
		"with v":                     {[]string{"v1.2.3"}, "acme/x", []string{"warning tag-ignored"}},
		"with v in addition to full": {[]string{"v1.2.3", "1.2.3"}, "acme/x", []string{}},
		"zero":                       {[]string{"0.0.0", "1.2.3"}, "acme/x", []string{"warning version-zero"}},
		"zero in short":              {[]string{"0", "1.2.3"}, "acme/x", []string{"warning version-zero"}},
		"per platform":               {[]string{"1.2.3", "1.2.3-linux_amd64"}, "acme/x", []string{"warning tag-per-platform"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wanted, err := provider.ParseRequirement(test.source)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, codes(doctor.CheckTags(test.tags, wanted, to))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// manyTags returns the arguments of CheckTags for n tags, which are all invalid.
func manyTags(tb testing.TB, n int) ([]string, provider.Requirement, template.Template) {
	tb.Helper()
	to, err := template.Parse("ghcr.io/acme/{type}")
	if err != nil {
		tb.Fatal(err)
	}
	wanted, err := provider.ParseRequirement("acme/x")
	if err != nil {
		tb.Fatal(err)
	}
	tags := make([]string, n)
	for i := range tags {
		tags[i] = fmt.Sprintf("v1.0.%d", i)
	}
	tags[n/2] = "7.1"
	return tags, wanted, to
}

// TestCheckManyTags checks the maximum number of tags.
func TestCheckManyTags(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	findings := doctor.CheckTags(manyTags(t, 100_000))
	if len(findings) != 21 || findings[0].Code != "tag-without-version" || findings[0].Severity != finding.Error {
		t.Fatalf("%d findings, first %+v", len(findings), findings[0])
	}
	if last := findings[20]; last.Code != "tags-many" || last.Message != "More tags with similar problems are not listed: 99980." {
		t.Errorf("got last finding %+v", last)
	}
}

// BenchmarkCheckTags shows whether the time per tag depends on the number of tags.
func BenchmarkCheckTags(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("%d tags", n), func(b *testing.B) {
			tags, wanted, to := manyTags(b, n)
			for b.Loop() {
				doctor.CheckTags(tags, wanted, to)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/tag")
		})
	}
}

func TestCheckLock(t *testing.T) {
	t.Parallel()
	a, err := provider.ParseAddress("acme/x")
	if err != nil {
		t.Fatal(err)
	}
	zip := digest.FromString("zip")
	head := "provider \"registry.opentofu.org/acme/other\" {\n  version = \"9.9.9\"\n}\nprovider \"registry.opentofu.org/acme/x\" {\n  version = \"1.2.3\"\n"
	tests := map[string]struct {
		text string
		want []string
	}{
		"right":       {head + `hashes = ["h1:x", "zh:` + zip.Encoded() + `"]` + "\n}", []string{}},
		"h1 only":     {head + `hashes = ["h1:x"]` + "\n}", []string{"error lock-h1-only"}},
		"another zip": {head + `hashes = ["zh:` + digest.FromString("other").Encoded() + `"]` + "\n}", []string{"error lock-hash-missing"}},
		"no hashes":   {head + "}", []string{}},
		"not locked":  {"", []string{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := lockfile.Parse("lock.hcl", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			var locked *lockfile.Selection
			if s, ok := file.Selection(a); ok {
				locked = &s
			}
			findings := doctor.CheckLock(locked, provider.Platform{OS: "hurd", Arch: "ia64"}, zip)
			if diff := cmp.Diff(test.want, codes(findings)); diff != "" {
				t.Fatal(diff)
			}
			if len(findings) == 1 && !strings.Contains(findings[0].Hint, `"zh:`+zip.Encoded()+`",`) {
				t.Errorf("got remedy %+v", findings[0].Remedy)
			}
		})
	}
}
