package page_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
)

// The following functions return sample data for pages.

func providers(n int) api.Providers {
	p := api.Providers{Total: n}
	for i := range n {
		ref := rocket()
		ref.Type = fmt.Sprintf("rocket%d", i)
		p.Providers = append(p.Providers, ref)
	}
	return p
}

func rocket() api.ProviderRef {
	return api.ProviderRef{
		Address: "registry.example.com/acme/rocket", Host: "registry.example.com", Namespace: "acme", Type: "rocket",
		Repository: "ghcr.io/acme/mirror/rocket", Latest: "1.2.0",
	}
}

func release(version string) api.VersionRef {
	day, signed := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), true
	return api.VersionRef{
		Version: version, Tag: strings.ReplaceAll(version, "+", "_"), Published: &day, Size: 123_456_789, URL: "https://tofu.example.com/api/v1/providers/registry.example.com/acme/rocket/" + version, Status: api.StatusComplete, Signed: &signed,
		Platforms: []string{"darwin_arm64", "haiku_riscv64", "linux_amd64"},
	}
}

func versions(n int) api.Provider {
	p := api.Provider{ProviderRef: rocket(), Total: n, Installation: "provider_installation {\n  network_mirror {\n    url = \"https://tofu.example.com/mirror/\"\n  }\n}\n"}
	for i := range n {
		p.Versions = append(p.Versions, release(fmt.Sprintf("1.%d.0", n-i)))
	}
	return p
}

// version returns a release for n platforms.
func version(n int) api.Version {
	const hex = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	v := api.Version{
		Provider: rocket(), VersionRef: release("1.2.0"), Digest: "sha256:" + hex, Protocols: []string{"5.0", "6.0"},
		Requirement:  "terraform {\n  required_providers {\n    rocket = {\n      source  = \"registry.example.com/acme/rocket\"\n      version = \"1.2.0\"\n    }\n  }\n}\n",
		Installation: versions(0).Installation,
		Lock:         "provider \"registry.example.com/acme/rocket\" {\n  version = \"1.2.0\"\n  hashes = [\n" + strings.Repeat("    \"zh:"+hex+"\",\n", n) + "  ]\n}\n",
		Verdict:      &api.Verdict{State: "signed", Text: "signed by a key in the artifact", Keys: []string{strings.Repeat("AB12", 10)}},
	}
	const site = "https://tofu.example.com"
	token := strings.Repeat("t", 183)
	document := func(kind, name string) api.Document {
		return api.Document{Name: name, Kind: kind, MediaType: "application/spdx+json", Digest: "sha256:" + hex, Size: 4321, URL: site + "/api/v1/providers/registry.example.com/acme/rocket/1.2.0/documents/sha256:" + hex}
	}
	for i := range n {
		platform := fmt.Sprintf("haiku%d_riscv64", i)
		name := "terraform-provider-rocket_1.2.0_" + platform + ".zip"
		sbom := document("sbom", name+".spdx.json")
		sbom.Components = site + "/api/v1/providers/registry.example.com/acme/rocket/1.2.0/components/sha256:" + hex
		v.Packages = append(v.Packages, api.Package{
			Platform: platform, Filename: name, Digest: "sha256:" + hex, ZH: "zh:" + hex, H1: "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", Size: 9_876_543,
			URL: site + "/archive/" + token + "/registry.example.com/acme/rocket/1.2.0/" + name, Documents: []api.Document{sbom, document("signature", name+".sig")},
		})
	}
	v.Evidence = []api.Document{document("checksums", "terraform-provider-rocket_1.2.0_SHA256SUMS"), document("signature", "terraform-provider-rocket_1.2.0_SHA256SUMS.sig")}
	v.Referrers = []api.Document{document("provenance", "provenance.intoto.jsonl")}
	v.Decisions = []api.Decision{{Kind: "promote", Verdict: "allow", Reason: "reviewed, OPS-4711", By: "jane", Time: *v.Published, Expires: v.Published, Key: strings.Repeat("AB12", 10)}}
	return v
}

func sbom(n int) api.SBOM {
	s := api.SBOM{Format: "SPDX 2.3"}
	for i := range n {
		s.Components = append(s.Components, api.Component{Name: fmt.Sprintf("github.com/acme/part%d", i), Version: "v1.0.0", License: "MPL-2.0", PURL: fmt.Sprintf("pkg:golang/github.com/acme/part%d@v1.0.0", i)})
	}
	return s
}

// modules returns modules with the addresses of providers.
func modules(p api.Providers) api.Modules {
	m := api.Modules{Total: p.Total, Warnings: p.Warnings}
	for _, ref := range p.Providers {
		m.Modules = append(m.Modules, moduleRef(ref))
	}
	return m
}

func moduleRef(ref api.ProviderRef) api.ModuleRef {
	return api.ModuleRef{Address: ref.Host + "/" + ref.Namespace + "/" + strings.TrimRight(ref.Type, "0123456789") + "/aws", Repository: ref.Repository, Latest: ref.Latest}
}

// moduleOf returns a module with the texts of a provider.
func moduleOf(p api.Provider) api.Module {
	m := api.Module{ModuleRef: moduleRef(p.ProviderRef), Total: p.Total, Installation: p.Installation}
	for _, v := range p.Versions {
		m.Versions = append(m.Versions, api.ModuleVersion{
			Version: v.Version, Size: 1234, Problem: v.Problem, Origin: "git::https://git.example.com/" + p.Type, Revision: "0123abc" + v.Problem, URL: v.URL,
		})
	}
	return m
}
