package bundle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Schema identifies the format of a bundle's manifest.
const Schema = "https://raw.githubusercontent.com/tofu-oci/tofu-oci/main/docs/schema/v2/bundle-manifest.schema.json"

const (
	// manifestName and signatureName are the names of the manifest and its signature in
	// each part.
	manifestName  = "bundle.json"
	signatureName = "bundle.json.sig"
	// maxManifest is the maximum size of a manifest in bytes, and maxValues is the
	// maximum number of its JSON values. They allow about 200,000 files.
	maxManifest = 64 << 20
	maxValues   = 4 << 20
	// maxSignature is the maximum size of the manifest's signature in bytes.
	maxSignature = 256 << 10
	// maxParts is the maximum number of parts of a bundle.
	maxParts = 10_000
)

// Manifest describes a bundle. All parts contain the same manifest.
type Manifest struct {
	Schema string `json:"$schema"`
	Identity
	// Parts is the number of parts.
	Parts int `json:"parts"`
	// Repositories is sorted by address. It includes repositories whose entire content
	// the receiver already has.
	Repositories []Repository `json:"repositories"`
	// Content contains each manifest and blob once, sorted by digest.
	Content []Content `json:"content"`
}

// Identity describes the sender's programs and keys. It is only informational.
type Identity struct {
	// Tool is the program that created the bundle, such as "tofu-oci 1.2.3".
	Tool string `json:"tool"`
	// Trust is the sender's trust file, and Keys contains the armored public keys of
	// the sender and its keyring.
	Trust string `json:"trust,omitempty"`
	Keys  string `json:"keys,omitempty"`
}

// Repository contains the versions of a provider or module.
type Repository struct {
	// Address is the address of a provider, such as
	// "registry.opentofu.org/hashicorp/null", or of a module.
	Address string `json:"address"`
	// Tags is sorted by name. It includes the tags of referrers lists.
	Tags []Tag `json:"tags"`
	// Blobs and Manifests contain the digests of all blobs and manifests that the
	// versions need, sorted. In bundles of tofu-oci 0.1.0, Manifests is empty, so the
	// manifests of a version can be imported only together with its blobs.
	Blobs     []digest.Digest `json:"blobs"`
	Manifests []digest.Digest `json:"manifests,omitempty"`

	address provider.Address
}

// Tag is a tag and the manifest that the tag points to.
type Tag struct {
	Name         string        `json:"name"`
	MediaType    string        `json:"mediaType"`
	ArtifactType string        `json:"artifactType,omitempty"`
	Digest       digest.Digest `json:"digest"`
	Size         int64         `json:"size"`
}

// Content is a manifest or blob.
type Content struct {
	Digest digest.Digest `json:"digest"`
	// Size is the size in bytes.
	Size int64 `json:"size"`
	// Parts contains the numbers of the parts that contain the content, starting at 1.
	// It is empty if the bundle doesn't contain the content because the receiver has it.
	Parts []int `json:"parts,omitempty"`
}

// encode returns a value as JSON. Identical values result in identical JSON.
func encode(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", " ")
	return append(data, '\n'), err
}

// parseManifest parses and validates a manifest.
func parseManifest(data []byte) (m Manifest, err error) {
	if err := bounded.DecodeJSON(data, &m, maxValues); err != nil {
		return m, damaged("invalid %s: %w", manifestName, err)
	}
	switch {
	case m.Schema != Schema:
		return m, malformed("unsupported bundle format %.100q: this version of tofu-oci supports only %s", m.Schema, Schema)
	case m.Parts < 1 || m.Parts > maxParts:
		return m, damaged("invalid %s: %d parts", manifestName, m.Parts)
	}
	known := map[digest.Digest]bool{}
	for _, c := range m.Content {
		valid := func(part int) bool { return part >= 1 && part <= m.Parts }
		if c.Digest.Validate() != nil || c.Digest.Algorithm() != digest.SHA256 || c.Size < 0 || known[c.Digest] || slices.ContainsFunc(c.Parts, func(n int) bool { return !valid(n) }) {
			return m, damaged("invalid %s: invalid entry for %.100q", manifestName, c.Digest)
		}
		known[c.Digest] = true
	}
	seen := map[string]bool{}
	for i, r := range m.Repositories {
		a, err := parseAddress(r.Address)
		if err != nil || a.String() != r.Address || seen[r.Address] {
			return m, damaged("invalid %s: invalid address %.100q", manifestName, r.Address)
		}
		m.Repositories[i].address, seen[r.Address] = a, true
		digests := slices.Concat(r.Blobs, r.Manifests)
		for i, t := range r.Tags {
			if t.Name == "" || i > 0 && t.Name <= r.Tags[i-1].Name {
				return m, damaged("invalid %s: invalid tag %.100q of %s", manifestName, t.Name, r.Address)
			}
			digests = append(digests, t.Digest)
		}
		for _, d := range digests {
			if !known[d] {
				return m, damaged("invalid %s: %s needs %.100q, which is not listed", manifestName, r.Address, d)
			}
		}
	}
	return m, nil
}

// parseAddress parses the address of a provider or module. For a module, it returns a
// [provider.ModuleAddress] with the module's registry address instead of a repository.
func parseAddress(text string) (provider.Address, error) {
	if strings.Count(text, "/") == 3 {
		a, err := module.ParseAddress(text)
		return provider.ModuleAddress(a.String()), err
	}
	return provider.ParseAddress(text)
}

// descriptor returns the descriptor of a tag's manifest.
func (t Tag) descriptor() ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: t.MediaType, ArtifactType: t.ArtifactType, Digest: t.Digest, Size: t.Size}
}

func malformed(format string, args ...any) error {
	return provider.Errorf(provider.Malformed, "%w", fmt.Errorf(format, args...))
}
