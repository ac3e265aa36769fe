package page_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/description"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/serve/page"
)

// The following functions return sample data for pages.

const hexDigits = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// day is the publication date of all samples.
var day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// home returns a home page with n providers.
func home(n int) page.Home {
	reachable, published := true, day
	h := page.Home{
		Reachable: &reachable, Sync: &page.Sync{Finished: day.Add(70 * time.Hour), Changed: 3, Failed: 1}, SeesPending: true, Pending: 2, Held: 1, Total: n,
	}
	for i := range n {
		ref := rocket()
		ref.Type = fmt.Sprintf("rocket%d", i)
		h.Providers = append(h.Providers, page.Provided{ProviderRef: ref, Published: &published, Pending: i % 2})
		h.Versions = append(h.Versions, listed(ref.Type))
	}
	h.Recent = h.Versions[:min(n, 6)]
	return h
}

func listed(name string) page.ListedVersion {
	published := day
	return page.ListedVersion{
		Path: []string{"providers", "registry.example.com", "acme", name, "1.2.0"}, Host: "registry.example.com", Name: "acme/" + name, Version: "1.2.0",
		Published: &published, Reason: "younger than 7d",
	}
}

func rocket() api.ProviderRef {
	return api.ProviderRef{
		Address: "registry.example.com/acme/rocket", Host: "registry.example.com", Namespace: "acme", Type: "rocket",
		Repository: "ghcr.io/acme/mirror/rocket", Latest: "1.2.0",
	}
}

func release(version string) api.VersionRef {
	published, signed := day, true
	return api.VersionRef{
		Version: version, Tag: strings.ReplaceAll(version, "+", "_"), Published: &published, Size: 123_456_789, URL: "https://tofu.example.com/api/v1/providers/registry.example.com/acme/rocket/" + version, Status: api.StatusComplete, Signed: &signed,
		Platforms: []string{"darwin_arm64", "haiku_riscv64", "linux_amd64"},
	}
}

// versions returns a provider with n versions.
func versions(n int) page.Provider {
	p := page.Provider{Provider: api.Provider{ProviderRef: rocket(), Total: n, Installation: "provider_installation {\n  network_mirror {\n    url = \"https://tofu.example.com/mirror/\"\n  }\n}\n"}}
	for i := range n {
		p.Versions = append(p.Versions, release(fmt.Sprintf("1.%d.0", n-i)))
	}
	return p
}

// pending returns a pending version.
func pending(version string) page.PendingVersion {
	p := page.PendingVersion{VersionRef: release(version), Promote: "tofu-oci promote 'acme/rocket@" + version + "' --to 'ghcr.io/acme/mirror/{type}'", Documents: []api.Document{document("checksums", "SHA256SUMS"), document("signature", "SHA256SUMS.sig")}}
	p.Status = api.StatusPending
	return p
}

const site = "https://tofu.example.com"

func document(kind, name string) api.Document {
	return api.Document{Document: description.Document{Name: name, Kind: kind, MediaType: "application/spdx+json", Digest: "sha256:" + hexDigits, Size: 4321}, URL: site + "/api/v1/providers/registry.example.com/acme/rocket/1.2.0/documents/sha256:" + hexDigits}
}

// version returns a release for n platforms.
func version(n int) page.Version {
	v := page.Version{Version: api.Version{
		Provider: rocket(), VersionRef: release("1.2.0"), Digest: "sha256:" + hexDigits, Protocols: []string{"5.0", "6.0"},
		Requirement:  "terraform {\n}\n",
		Installation: versions(0).Installation,
		Lock:         "provider \"registry.example.com/acme/rocket\" {\n  version = \"1.2.0\"\n  hashes = [\n" + strings.Repeat("    \"zh:"+hexDigits+"\",\n", n) + "  ]\n}\n",
		Assessment:   api.Assessment{Signature: &api.Signature{Signature: description.Signature{Verdict: "signed", Fingerprint: strings.Repeat("AB12", 10)}, Text: "signed by a key in the artifact", Signer: "Acme Releases <releases@acme.example>"}},
	}}
	token := strings.Repeat("t", 183)
	for i := range n {
		platform := fmt.Sprintf("haiku%d_riscv64", i)
		name := "terraform-provider-rocket_1.2.0_" + platform + ".zip"
		v.Packages = append(v.Packages, api.Package{
			Package: description.Package{Platform: platform, Filename: name, Digest: "sha256:" + hexDigits, H1: "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", Size: 9_876_543},
			ZH:      "zh:" + hexDigits, URL: site + "/archive/" + token + "/registry.example.com/acme/rocket/1.2.0/" + name, Documents: []api.Document{document("sbom", name+".spdx.json"), document("signature", name+".sig")},
		})
	}
	v.Documents = []api.Document{document("checksums", "terraform-provider-rocket_1.2.0_SHA256SUMS"), document("signature", "terraform-provider-rocket_1.2.0_SHA256SUMS.sig")}
	v.Referrers = []api.Document{document("provenance", "provenance.intoto.jsonl")}
	v.Decisions = []description.Decision{{Kind: "promote", Verdict: "allow", Reason: "reviewed, OPS-4711", By: "jane", Time: *v.Published, Key: strings.Repeat("AB12", 10)}}
	return v
}

// modules returns 50 modules with the strings of a provider.
func modules(p page.Provider) api.Modules {
	m := api.Modules{Total: 50}
	for range m.Total {
		m.Modules = append(m.Modules, moduleRef(p.ProviderRef))
	}
	return m
}

func moduleRef(ref api.ProviderRef) api.ModuleRef {
	return api.ModuleRef{Address: ref.Host + "/" + ref.Namespace + "/" + ref.Type + "/aws", Repository: ref.Repository, Latest: ref.Latest}
}

// moduleOf returns a module with the strings of a provider.
func moduleOf(p page.Provider) page.Module {
	m := page.Module{Module: api.Module{ModuleRef: moduleRef(p.ProviderRef), Total: p.Total, Installation: p.Installation}, Waiting: p.Waiting, Held: p.Held}
	for _, v := range p.Versions {
		m.Versions = append(m.Versions, api.ModuleVersion{
			Version: v.Version, Size: 1234, Problem: v.Problem, Origin: "git::https://git.example.com/" + p.Type, Revision: "0123abc" + v.Problem, ZipURL: v.URL, Status: v.Status,
		})
	}
	return m
}

// moduleVersion returns a version of a module with the strings of a release.
func moduleVersion(m page.Module, v page.Version) page.ModuleVersion {
	return page.ModuleVersion{Published: v.Published, Promote: v.Promote, ModuleRelease: api.ModuleRelease{
		Module: m.ModuleRef, Installation: v.Installation, Assessment: v.Assessment, Requirement: v.Requirement, ModuleVersion: api.ModuleVersion{
			Version: v.VersionRef.Version, Tag: v.Tag, Status: v.Status, Digest: v.Digest, Zip: v.Digest, Size: 1234, Problem: v.Problem, Subdirectory: v.Tag,
			Source: v.Digest, Revision: v.Digest, Origin: v.Digest, ZipURL: v.URL, Documents: v.Documents,
		},
	}}
}
