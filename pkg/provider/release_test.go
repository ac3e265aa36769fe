package provider_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestConventionalNames(t *testing.T) {
	t.Parallel()
	a := addresses(t, "bücher.example:8443/acme/google-beta")[0]
	for text, want := range map[string][2]string{
		"1.2.3":          {"terraform-provider-google-beta_1.2.3_plan9_386.zip", "terraform-provider-google-beta_1.2.3_SHA256SUMS"},
		"1.2":            {"terraform-provider-google-beta_1.2.0_plan9_386.zip", "terraform-provider-google-beta_1.2.0_SHA256SUMS"},
		"1.2.3-beta1+m5": {"terraform-provider-google-beta_1.2.3-beta1+m5_plan9_386.zip", "terraform-provider-google-beta_1.2.3-beta1+m5_SHA256SUMS"},
	} {
		v := versions(t, text)[0]
		got := [2]string{provider.Filename(a, v, provider.Platform{OS: "plan9", Arch: "386"}), provider.SumsName(a, v)}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
		if err := errors.Join(provider.CheckFilename(got[0]), provider.CheckFilename(got[1])); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestParseFilename(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][3]string{
		"terraform-provider-x_1.2.3_linux_amd64.zip":       {"x", "1.2.3", "linux_amd64"},
		"terraform-provider-a-b_1.2.3-rc1+m_plan9_386.zip": {"a-b", "1.2.3-rc1+m", "plan9_386"},
		"terraform-provider-a_b_v1_Linux_x86.zip":          {"a_b", "v1", "Linux_x86"},
		"terraform-provider-x_1.2.3_linux_amd64.tar.gz":    {},
		"terraform-provider-x_1.2.3.zip":                   {},
		"opentofu-provider-x_1.2.3_linux_amd64.zip":        {},
		"terraform-provider-x_1.2.3_manifest.json":         {},
		"dist/terraform-provider-x_1.2.3_linux_amd64.zip":  {},
	} {
		typ, version, platform, ok := provider.ParseFilename(name)
		if got := [3]string{typ, version, platform}; got != want || ok != (want != [3]string{}) {
			t.Errorf("%s: got %q, %t, want %q", name, got, ok, want)
		}
	}
}

func TestCheckFilenameAllows(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"terraform-provider-null_3.2.4_linux_amd64.zip",
		"terraform-provider-null_3.2.4-beta1+meta_SHA256SUMS.sig",
		"a", "a..b", "über.zip", "~a", "com.zip", "com10.zip", "comx", "lpt", "console.txt", "nul_.zip",
		strings.Repeat("a", 255),
	} {
		if err := provider.CheckFilename(name); err != nil {
			t.Error(err)
		}
	}
}

func TestCheckFilenameRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, input, want string }{
		{"nothing", "", "is empty"},
		{"256 bytes", strings.Repeat("a", 256), "exceeds 255 bytes"},
		{"128 letters of two bytes", strings.Repeat("ä", 128), "exceeds 255 bytes"},
		{"the parent", "..", "starts with a dot"},
		{"the directory itself", ".", "starts with a dot"},
		{"a path to the parent", "../x", "character that is not allowed"},
		{"a path to a subdirectory", "a/b", "character that is not allowed"},
		{"a path to the parent on Windows", `..\x`, "character that is not allowed"},
		{"a path to a subdirectory on Windows", `a\b`, "character that is not allowed"},
		{"an absolute path", "/etc/passwd", "character that is not allowed"},
		{"a drive", "C:x", "character that is not allowed"},
		{"a stream", "a.zip::$DATA", "character that is not allowed"},
		{"a pattern", "*.zip", "character that is not allowed"},
		{"a hidden file", ".bashrc", "starts with a dot"},
		{"a flag", "-rf", "starts with a dot or dash"},
		{"a dot at the end", "a.zip.", "ends with a dot"},
		{"a space", "a b", "white space"},
		{"a space at the end", "a.zip ", "white space"},
		{"a line break", "a\nb", "control character"},
		{"a zero byte", "a\x00b", "control character"},
		{"an escape sequence", "a\x1b[2Jb", "control character"},
		{"a C1 control", "a\u0085b", "control character"},
		{"invalid UTF-8", "a\xffb", "invalid UTF-8"},
		{"NUL", "NUL", "device name"},
		{"con", "con", "device name"},
		{"aux with an extension", "aux.tar.gz", "device name"},
		{"com1.zip", "com1.zip", "device name"},
		{"LPT9", "LPT9", "device name"},
		{"conout$", "conout$", "device name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := provider.CheckFilename(test.input); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want … %s …", err, test.want)
			}
		})
	}
}

func TestCheckIdentity(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, version, filename string
		// want is a part of the expected error.
		want string
	}{
		{"the conventional name", "2.0.0", "terraform-provider-x_2.0.0_linux_amd64.zip", ""},
		{"a pre-release", "2.0.0-beta1+m", "terraform-provider-x_2.0.0-beta1+m_linux_amd64.zip", ""},
		{"a short version", "2.0.0", "terraform-provider-x_2.0_linux_amd64.zip", ""},
		{"another type, as forks have it", "2.0.0", "terraform-provider-y_2.0.0_linux_amd64.zip", "y 2.0.0 linux_amd64"},
		{"a type with an underscore", "2.0.0", "terraform-provider-x_y_2.0.0_linux_amd64.zip", "x_y 2.0.0 linux_amd64"},
		{"an odd name", "2.0.0", "x-linux-amd64.zip", ""},
		{"an odd name with another version", "2.0.0", "x_1.0.0_linux_amd64.zip", ""},
		{"no zip", "2.0.0", "terraform-provider-x_1.0.0_linux_amd64.tar.gz", ""},
		{"no version", "2.0.0", "terraform-provider-x_new_linux_amd64.zip", ""},
		{"a leading v", "2.0.0", "terraform-provider-x_v2.0.0_linux_amd64.zip", ""},
		{"other case, and a V", "2.0.0", "Terraform-Provider-X_V2.0.0_LINUX_amd64.ZIP", ""},
		{"an invalid platform", "2.0.0", "terraform-provider-x_1.0.0_linux_x86-64.zip", ""},
		{"only prefix and suffix", "2.0.0", "terraform-provider-.zip", ""},
		{"shorter than prefix and suffix", "2.0.0", "terraform.zip", ""},
		{"an older version's name with a v", "2.0.0", "terraform-provider-x_v1.0.0_linux_amd64.zip", "x 1.0.0 linux_amd64"},
		{"an older version's name with a large ending", "2.0.0", "terraform-provider-x_1.0.0_linux_amd64.ZIP", "x 1.0.0 linux_amd64"},
		{"another type's name in other case", "2.0.0", "Terraform-Provider-Y_2.0.0_Linux_Amd64.zip", "y 2.0.0 linux_amd64"},
		{"a pre-release in other case", "2.0.0-rc1", "terraform-provider-x_2.0.0-RC1_linux_amd64.zip", "x 2.0.0-RC1 linux_amd64"},
		{"too few parts", "2.0.0", "terraform-provider-x_1.0.0.zip", ""},
		{"an older version's name", "2.0.0", "terraform-provider-x_1.0.0_linux_amd64.zip", "x 1.0.0 linux_amd64"},
		{"a pre-release's name", "2.0.0", "terraform-provider-x_2.0.0-rc1_linux_amd64.zip", "x 2.0.0-rc1 linux_amd64"},
		{"the release's name for a pre-release", "2.0.0-rc1", "terraform-provider-x_2.0.0_linux_amd64.zip", "x 2.0.0 linux_amd64"},
		{"another build's name", "2.0.0+b", "terraform-provider-x_2.0.0+a_linux_amd64.zip", "x 2.0.0+a linux_amd64"},
		{"another architecture's name", "2.0.0", "terraform-provider-x_2.0.0_linux_arm64.zip", "x 2.0.0 linux_arm64"},
		{"another system's name", "2.0.0", "terraform-provider-x_2.0.0_windows_amd64.zip", "x 2.0.0 windows_amd64"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := provider.Package{
				Address: addresses(t, "a/x")[0], Version: versions(t, test.version)[0],
				Platform: provider.Platform{OS: "linux", Arch: "amd64"}, Filename: "terraform-provider-x_conventional.zip", ListedAs: test.filename,
			}
			err := p.CheckIdentity()
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var identity *provider.IdentityError
			if !errors.As(err, &identity) {
				t.Fatalf("got %v, want an identity error", err)
			}
			if got := identity.Type + " " + identity.Version + " " + identity.Platform; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestIdentityErrorNamesBoth(t *testing.T) {
	t.Parallel()
	p := provider.Package{
		Address: addresses(t, "a/x")[0], Version: versions(t, "2.0.0")[0], Platform: provider.Platform{OS: "linux", Arch: "amd64"},
		Filename: "terraform-provider-y_1.0.0_linux_arm64.zip",
	}
	const want = `"terraform-provider-y_1.0.0_linux_arm64.zip" is the name of y 1.0.0 for linux_arm64, not of x 2.0.0 for linux_amd64`
	if err := p.CheckIdentity(); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestCheckConventional(t *testing.T) {
	t.Parallel()
	p := provider.Package{
		Address: addresses(t, "a/x")[0], Version: versions(t, "2.0.0")[0], Platform: provider.Platform{OS: "linux", Arch: "amd64"},
	}
	for name, want := range map[string]string{
		"terraform-provider-x_2.0.0_linux_amd64.zip":   "",
		"terraform-provider-x_2.0_linux_amd64.zip":     "",
		"terraform-provider-x_v2.0.0_linux_amd64.zip":  "",
		"terraform-provider-x_V2.0.0_linux_amd64.zip":  "is not a package file name; the name for linux_amd64 is terraform-provider-x_2.0.0_linux_amd64.zip",
		"terraform-provider-x_vv2.0.0_linux_amd64.zip": "is not a package file name",
		"terraform-provider-x_2.0.0_Linux_amd64.zip":   "is not a package file name",
		"Terraform-provider-x_2.0.0_linux_amd64.zip":   "is not a package file name",
		"terraform-provider-x_2.0.0_linux_amd64.ZIP":   "is not a package file name",
		"zz_override.tf": "is not a package file name",
		"Makefile":       "is not a package file name",
		"":               "is not a package file name",
		"../terraform-provider-x_2.0.0_linux_amd64.zip":    "is not a package file name",
		"a/terraform-provider-x_2.0.0_linux_amd64.zip":     "is not a package file name",
		"terraform-provider-y_2.0.0_linux_amd64.zip":       "is the name of y 2.0.0 for linux_amd64",
		"terraform-provider-../x_2.0.0_linux_amd64.zip":    "is the name of ../x 2.0.0 for linux_amd64",
		"terraform-provider-x_1.0.0_linux_amd64.zip":       "is the name of x 1.0.0 for linux_amd64",
		"terraform-provider-x_v1.0.0_linux_amd64.zip":      "is the name of x 1.0.0 for linux_amd64",
		"terraform-provider-x_2.0.0_windows_amd64.zip":     "is the name of x 2.0.0 for windows_amd64",
		"terraform-provider-x_2.0.0_linux_amd64.zip.exe":   "is not a package file name",
		"terraform-provider-x_2.0.0_linux_amd64.zip\n.zip": "is not a package file name",
	} {
		err := p.CheckConventional(name)
		var identity *provider.IdentityError
		switch {
		case want == "" && err != nil:
			t.Error(err)
		case want != "" && (!errors.As(err, &identity) || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: got %v, want … %s …", name, err, want)
		}
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	platforms := parse(t, provider.ParsePlatform, []string{"darwin_arm64", "linux_amd64"})
	r := provider.Release{
		Packages:  []provider.Package{{Platform: platforms[0]}, {Platform: platforms[1]}},
		Documents: []provider.Document{{Name: "a", Kind: provider.KindSums}, {Name: "b", Kind: provider.KindSBOM}, {Name: "c", Kind: provider.KindSBOM}},
	}
	if diff := cmp.Diff(platforms, r.Platforms()); diff != "" {
		t.Errorf("wrong platforms (-want +got):\n%s", diff)
	}
	if got, found := r.Document(provider.KindSBOM); !found || got.Name != "b" {
		t.Errorf("SBOM: got %q, %t, want the first of the kind", got.Name, found)
	}
	if got, found := r.Document(provider.KindKeys); found {
		t.Errorf("keys: got %q", got.Name)
	}
}

// TestSortProtocols checks that only versions are kept that OpenTofu can parse.
func TestSortProtocols(t *testing.T) {
	t.Parallel()
	got := provider.SortProtocols([]string{"6.0", "...", "5", "1.2.3.4", "", ".", "5.", ".5", "5.0", "6.0", "05.0", "v5.0", "5.0-beta1", "5.x", "5.0+a", "99999999999999999999.0", " 5.0"})
	if want := []string{"5", "5.0", "6.0"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
