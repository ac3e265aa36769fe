//go:build unix

package e2e_test

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// newerVersion is a version that exists only in the origin registry.
const newerVersion = "0.15.0"

// installations lists configurations for which tofu init and tofu-oci pull must install
// the same package. Names in capitals are placeholders for the test's paths and
// addresses. version is the version that both programs install. It is empty if both
// programs fail. differs explains an intended difference, and ours is the version that
// tofu-oci installs instead.
var installations = []struct {
	name, config, constraint, version, differs, ours string
}{
	{name: "no block", config: ``, version: newerVersion},
	{name: "empty block", config: `provider_installation {}`},
	{name: "direct", config: `provider_installation { direct {} }`, version: newerVersion},
	{name: "direct for others", config: `provider_installation { direct { include = ["acme/*"] } }`},
	{name: "direct without it", config: `provider_installation { direct { exclude = ["hashicorp/*"] } }`},
	{name: "direct including it", config: `provider_installation { direct { include = ["hashicorp/*"] } }`, version: newerVersion},
	{name: "direct, excluded after included", config: `provider_installation { direct { 
		include = ["hashicorp/*"] 
		exclude = ["hashicorp/time"] 
	} }`},
	{name: "oci_mirror", config: `provider_installation { oci_mirror {
		repository_template = "REGISTRY/good/${namespace}/${type}"
		include = ["registry.opentofu.org/*/*"]
	} }`, version: fixture.TimeVersion},
	{name: "oci_mirror with a literal name", config: `provider_installation { oci_mirror {
		repository_template = "REGISTRY/good/hashicorp/time"
		include = ["hashicorp/time"]
	} }`, version: fixture.TimeVersion},
	{name: "oci_mirror with all variables", config: `provider_installation { oci_mirror {
		repository_template = "REGISTRY/all/${hostname}/${namespace}/${type}"
	} }`, version: fixture.TimeVersion},
	{name: "oci_mirror with an expression", config: `provider_installation { oci_mirror {
		repository_template = "REGISTRY/${type == "time" ? "good" : "bad"}/${namespace}/${type}"
		include = ["registry.opentofu.org/*/*"]
	} }`, version: fixture.TimeVersion},
	{name: "oci_mirror and direct without its providers", config: `provider_installation {
		oci_mirror { 
			repository_template = "REGISTRY/good/${namespace}/${type}" 
			include = ["registry.opentofu.org/*/*"] 
		}
		direct { exclude = ["registry.opentofu.org/*/*"] }
	}`, version: fixture.TimeVersion},
	{name: "oci_mirror lacks what direct has", config: `provider_installation {
		oci_mirror { 
			repository_template = "REGISTRY/good/${namespace}/${type}" 
			include = ["registry.opentofu.org/*/*"] 
		}
		direct {}
	}`},
	{name: "direct before oci_mirror", config: `provider_installation {
		direct {}
		oci_mirror { 
			repository_template = "REGISTRY/good/${namespace}/${type}" 
			include = ["registry.opentofu.org/*/*"] 
		}
	}`, version: newerVersion},
	{name: "oci_mirror contains the version", constraint: fixture.TimeVersion, config: `provider_installation {
		oci_mirror { 
			repository_template = "REGISTRY/good/${namespace}/${type}" 
			include = ["registry.opentofu.org/*/*"] 
		}
		direct {}
	}`, version: fixture.TimeVersion},
	{name: "oci_mirror passed by", config: `provider_installation {
		oci_mirror { 
			repository_template = "REGISTRY/good/${namespace}/${type}" 
			include = ["registry.opentofu.org/*/*"] 
			exclude = ["hashicorp/time"]
		}
		direct {}
	}`, version: newerVersion},
	{name: "oci_mirror without the version", constraint: "9.9.9", config: `provider_installation { oci_mirror {
		repository_template = "REGISTRY/good/${namespace}/${type}"
		include = ["registry.opentofu.org/*/*"]
	} }`},
	{name: "oci_mirror without the repository", config: `provider_installation { oci_mirror {
		repository_template = "REGISTRY/nothing/${namespace}/${type}"
		include = ["registry.opentofu.org/*/*"]
	} }`},
	{name: "oci_mirror without the repository, before direct", constraint: fixture.TimeVersion, config: `provider_installation {
		oci_mirror {
			repository_template = "REGISTRY/nothing/${namespace}/${type}"
			include = ["registry.opentofu.org/*/*"]
		}
		direct {}
	}`},
	{name: "filesystem_mirror packed", config: `provider_installation { filesystem_mirror { path = "PACKED" } }`, version: fixture.TimeVersion},
	{name: "filesystem_mirror unpacked", config: `provider_installation { filesystem_mirror { path = "UNPACKED" } }`, version: fixture.TimeVersion},
	{name: "filesystem_mirror empty", config: `provider_installation { filesystem_mirror { path = "EMPTY" } }`},
	{name: "filesystem_mirror not there", config: `provider_installation { filesystem_mirror { path = "EMPTY/not-there" } }`},
	{name: "filesystem_mirror lacks what direct has", config: `provider_installation { 
		filesystem_mirror { path = "PACKED" } 
		direct {} 
	}`, version: newerVersion},
	{name: "filesystem_mirror contains the version", constraint: fixture.TimeVersion, config: `provider_installation { 
		filesystem_mirror { path = "PACKED" } 
		direct {} 
	}`, version: fixture.TimeVersion},
	{name: "filesystem_mirror for others", config: `provider_installation { 
		filesystem_mirror { 
			path = "PACKED" 
			include = ["acme/*"] 
		} 
		direct {} 
	}`, version: newerVersion},
	{name: "two filesystem_mirrors", config: `provider_installation { 
		filesystem_mirror { path = "UNPACKED" } 
		filesystem_mirror { path = "PACKED" } 
	}`, version: fixture.TimeVersion},
	{name: "filesystem_mirror before oci_mirror", config: `provider_installation { 
		filesystem_mirror { path = "PACKED" } 
		oci_mirror {
			repository_template = "REGISTRY/good/${namespace}/${type}"
			include = ["registry.opentofu.org/*/*"]
		}
	}`, version: fixture.TimeVersion},
	{name: "network_mirror for others", config: `provider_installation { 
		network_mirror { 
			url = "https://mirror.invalid/" 
			include = ["acme/*"] 
		} 
		direct {} 
	}`, version: newerVersion},
	{name: "plugin_cache_dir", config: `plugin_cache_dir = "CACHE"
		provider_installation { direct {} }`, version: newerVersion},
	{name: "other blocks", config: `disable_checkpoint = true
		credentials "other.example.com" { token = "secret" }
		provider_installation { direct {} }`, version: newerVersion},

	{name: "JSON direct", config: `{"provider_installation": [{"direct": [{"include": ["hashicorp/*"]}]}], HOSTJSON}`, version: newerVersion},
	{name: "JSON oci_mirror", config: `{"provider_installation": [{"oci_mirror": [{
		"repository_template": "REGISTRY/good/${namespace}/${type}", "include": ["registry.opentofu.org/*/*"]}]}], HOSTJSON}`, version: fixture.TimeVersion},
	{name: "JSON filesystem_mirror", config: `{"provider_installation": [{"filesystem_mirror": [{"path": "PACKED"}]}], HOSTJSON}`, version: fixture.TimeVersion},

	{name: "syntax error", config: `provider_installation {`},
	{name: "two blocks", differs: "OpenTofu prints a warning and ignores it", version: newerVersion, config: `provider_installation { direct {} }
		provider_installation { direct {} }`},
	{name: "unknown method", config: `provider_installation { carrier_pigeon {} }`},
	{name: "template without an open part", config: `provider_installation { oci_mirror {
		repository_template = "REGISTRY/good/${type}"
		include = ["registry.opentofu.org/*/*"]
	} }`},
	{name: "template with an unknown variable", config: `provider_installation { oci_mirror {
		repository_template = "REGISTRY/good/${name}"
		include = ["hashicorp/time"]
	} }`},
	{name: "template with a function", config: `provider_installation { oci_mirror {
		repository_template = "REGISTRY/good/${upper(type)}"
		include = ["hashicorp/*"]
	} }`},
	{name: "oci_mirror without a template", config: `provider_installation { oci_mirror { include = ["hashicorp/time"] } }`},
	{name: "wildcard in a wrong place", config: `provider_installation { direct { include = ["*/time"] } }`},
	{name: "network_mirror without a URL", config: `provider_installation { network_mirror {} }`},
	{name: "filesystem_mirror without a path", config: `provider_installation { filesystem_mirror {} }`},
	{name: "two oci_default_credentials", differs: "OpenTofu prints a warning and ignores it", version: newerVersion, config: `oci_default_credentials {}
		oci_default_credentials {}`},
	{name: "oci_credentials of two forms", differs: "OpenTofu prints a warning and ignores it", version: newerVersion, config: `oci_credentials "example.com" {
		username = "a"
		password = "b"
		access_token = "c"
		refresh_token = "d"
	}`},

	{name: "the draft's spelling", differs: "we read the RFC draft's block too", config: `provider_installation { oci {
		registry_template = "REGISTRY/good/${namespace}/${type}"
		include = ["registry.opentofu.org/*/*"]
	} }`, ours: fixture.TimeVersion},
}

// TestConfigurations runs both programs with the same configuration. It compares the
// versions and contents of the installed packages.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	places := newPlaces(t)
	for _, test := range installations {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := places.write(t, test.config)
			constraint := test.constraint
			if constraint == "" {
				constraint = "~> 0.14"
			}
			theirVersion, lock := tofuInstalls(t, file, constraint)
			ourVersion, h1, printed := weInstall(t, file, constraint)
			if test.differs != "" {
				if theirVersion != test.version || ourVersion != test.ours {
					t.Errorf("tofu installs %q and tofu-oci %q, want a different result because %s\n%s", theirVersion, ourVersion, test.differs, printed)
				}
				return
			}
			if theirVersion != test.version || ourVersion != test.version {
				t.Errorf("tofu installs %q and tofu-oci %q, not %q\n%s", theirVersion, ourVersion, test.version, printed)
			}
			if h1 != "" && !strings.Contains(lock, h1) {
				t.Errorf("tofu-oci found %s, tofu found a different hash:\n%s", h1, lock)
			}
		})
	}
}

type places struct{ *strings.Replacer }

// newPlaces creates an origin registry with two versions of the provider. It also
// creates an OCI registry and filesystem mirrors with the older version. The content of
// the provider differs between these places.
func newPlaces(t *testing.T) places {
	t.Helper()
	origin, config := serveOrigin(t, origintest.Options{}, world.release, newerRelease(t))
	_ = origin
	host := startRegistry(t)
	for _, to := range []string{host + "/good/{namespace}/{type}", host + "/all/{hostname}/{namespace}/{type}"} {
		run(t, programs.tofuOCI, "mirror", "hashicorp/time@"+fixture.TimeVersion, "--to", to, "--config", config, "--ca-file", world.caFile)
	}
	packed, unpacked := t.TempDir(), t.TempDir()
	fill := func(dir, layout string) {
		path := variant(t, layout, fixture.TimeVersion, provider.CurrentPlatform())
		repository := "oci-layout:" + filepath.Join(t.TempDir(), "{type}")
		run(t, programs.tofuOCI, "publish", path, "--provider", "hashicorp/time", "--to", repository)
		run(t, programs.tofuOCI, "pull", "hashicorp/time", "--from", repository, "--dir", dir, "--layout", layout)
	}
	fill(packed, "packed")
	fill(unpacked, "unpacked")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	url := regexp.MustCompile(`https://[^"]+`).FindString(string(text))
	hostJSON := fmt.Sprintf(`"host": {"registry.opentofu.org": {"services": {"providers.v1": %q}}}`, url)
	return places{strings.NewReplacer("REGISTRY", host, "PACKED", packed, "UNPACKED", unpacked, "EMPTY", t.TempDir(), "CACHE", t.TempDir(), "HOSTJSON", hostJSON, "HOSTBLOCK", string(text))}
}

// write replaces the placeholders in a configuration and writes the configuration file.
func (p places) write(t *testing.T, config string) string {
	t.Helper()
	if !strings.HasPrefix(config, "{") {
		config = "HOSTBLOCK\n" + config
	}
	file := filepath.Join(t.TempDir(), "tofurc")
	write(t, file, p.Replace(config))
	return file
}

// variant returns the provider's zip with an additional file, which contains mark and
// distinguishes this zip from other variants.
func variant(t *testing.T, mark, version string, p provider.Platform) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), fmt.Sprintf("terraform-provider-time_%s_%s.zip", version, p))
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	in, err := zip.OpenReader(world.release.Archives[p].Path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out := zip.NewWriter(f)
	for _, entry := range in.File {
		if err := out.Copy(entry); err != nil {
			t.Fatal(err)
		}
	}
	w, err := out.Create("MARK")
	if err == nil {
		_, err = io.WriteString(w, mark)
	}
	if err == nil {
		err = out.Close()
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func digestOf(t *testing.T, path string) digest.Digest {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return digest.FromBytes(content)
}

var lockedVersion = regexp.MustCompile(`version\s+= "([^"]+)"`)

// tofuInstalls returns the version that tofu init locks and the lock file's content. If
// tofu init fails, the version is empty.
func tofuInstalls(t *testing.T, cliConfig, constraint string) (version, lock string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), fmt.Sprintf("terraform {\n  required_providers {\n    time = {\n      source  = \"hashicorp/time\"\n      version = %q\n    }\n  }\n}\n", constraint))
	cmd := command(t, programs.tofu, "init", "-input=false", "-no-color")
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "TF_CLI_CONFIG_FILE="+cliConfig)
	if err := cmd.Run(); err != nil {
		return "", ""
	}
	text, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	return lockedVersion.FindStringSubmatch(string(text))[1], string(text)
}

// weInstall returns the version that tofu-oci pull installs, and the hash of the
// unpacked package. If pull fails, the version is empty.
func weInstall(t *testing.T, cliConfig, constraint string) (version, h1, printed string) {
	t.Helper()
	cmd := command(t, programs.tofuOCI, "pull", "hashicorp/time@"+constraint, "--dir", t.TempDir(), "--layout", "unpacked", "--output", "json")
	cmd.Dir = t.TempDir()
	cmd.Env = append(cmd.Env, "TF_CLI_CONFIG_FILE="+cliConfig)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		return "", "", stderr.String()
	}
	r := parse(t, string(stdout))
	path := r.Items[0].Packages[0].Path
	if h1, err = sums.H1Dir(path); err != nil {
		t.Fatal(err)
	}
	return filepath.Base(filepath.Dir(path)), h1, stderr.String()
}
