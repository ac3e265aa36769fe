package builddir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// addDocument adds a file if it has the name of a document about one of the releases.
// belongs reports whether the file was added.
func (s *Source) addDocument(f dirFile) (belongs bool, err error) {
	for v, r := range s.releases {
		if r.add(s.address, v, f) {
			return true, nil
		}
	}
	stem := "terraform-provider-" + s.address.Type
	if about, kind := provider.CutDocumentSuffix(f.name); about != stem || kind == "" || kind == provider.KindSignature {
		return false, nil
	}
	if len(s.releases) > 1 {
		return false, fmt.Errorf("%s describes a single release, but the directory contains several versions; add the version to the file name, as in %s_VERSION%s",
			f.path, stem, strings.TrimPrefix(f.name, stem))
	}
	for _, r := range s.releases {
		r.referrers = append(r.referrers, f)
	}
	return true, nil
}

// add adds a file if it has the name of a document about the version. It reports
// whether the file was added.
func (r *dirRelease) add(a provider.Address, v provider.Version, f dirFile) bool {
	listing, stem := provider.SumsName(a, v), fmt.Sprintf("terraform-provider-%s_%s", a.Type, v)
	about, kind := provider.CutDocumentSuffix(f.name)
	isReferrer := kind != "" && kind != provider.KindSignature
	switch {
	case f.name == listing:
		r.sums = append(r.sums, f)
		return true
	case f.name == stem+manifestSuffix:
		r.manifests = append(r.manifests, f)
		return true
	case about == listing && (kind == provider.KindSignature || kind == provider.KindSigstore):
		r.signatures = append(r.signatures, f)
		return true
	case about == stem && isReferrer:
		r.referrers = append(r.referrers, f)
		return true
	}
	for platform, p := range r.packages {
		zip := p.zip.name
		if about == zip && kind != "" || about == strings.TrimSuffix(zip, ".zip") && isReferrer {
			p.documents = append(p.documents, f)
			r.packages[platform] = p
			return true
		}
	}
	return false
}

// sharedDocuments returns SHA256SUMS and its signatures. If the SHA256SUMS file is
// missing, sharedDocuments generates it.
func (r *dirRelease) sharedDocuments(of provider.Release) ([]provider.Document, error) {
	if len(r.sums) == 0 {
		if len(r.signatures) > 0 {
			return nil, fmt.Errorf("%s exists without the %s that it signs", r.signatures[0].path, provider.SumsName(of.Address, of.Version))
		}
		return []provider.Document{source.GeneratedSums(of)}, nil
	}
	return readDocuments(slices.Concat(r.sums, r.signatures), provider.ScopeRelease)
}

// manifestSuffix ends the file name of a release's manifest. Authors provide this file
// for the public registry.
const manifestSuffix = "_manifest.json"

// protocols returns the plugin protocol versions from the manifest of a release. If
// SHA256SUMS lists the manifest, the checksum must match. protocols calls note if the
// listed manifest is missing.
func (r *dirRelease) protocols(of provider.Release, note func(string)) (protocols []string, err error) {
	name := fmt.Sprintf("terraform-provider-%s_%s%s", of.Address.Type, of.Version, manifestSuffix)
	var listed sums.File
	if document, has := of.Document(provider.KindSums); has {
		if listed, err = sums.Parse(document.Bytes); err != nil {
			return nil, fmt.Errorf("%s: %w", document.Name, err)
		}
	}
	isListed := slices.Contains(listed.Names(), name)
	if len(r.manifests) == 0 && isListed && note != nil {
		note(fmt.Sprintf("%s is missing, although SHA256SUMS lists it, so the plugin protocols are unknown", name))
	}
	for i, f := range r.manifests {
		data, err := bounded.ReadFile(f.path, artifact.MaxDocumentSize)
		if err != nil {
			return nil, err
		}
		if isListed {
			if err := listed.Check(name, digest.FromBytes(data)); err != nil {
				return nil, fmt.Errorf("%w: %s: %w", ErrSums, f.path, err)
			}
		}
		found, err := readManifest(f, data)
		if err != nil {
			return nil, err
		}
		if i > 0 && !slices.Equal(found, protocols) {
			return nil, fmt.Errorf("%s and %s differ, but only one of them can be published", r.manifests[0].path, f.path)
		}
		protocols = found
	}
	return protocols, nil
}

// readManifest returns the plugin protocol versions in a manifest.
func readManifest(f dirFile, data []byte) ([]string, error) {
	var manifest struct {
		Metadata struct {
			Protocols []string `json:"protocol_versions"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, bounded.JSONError(err))
	}
	return provider.SortProtocols(manifest.Metadata.Protocols), nil
}

// readDocuments reads documents and sorts them by name. Several directories can contain
// a document with the same name if the content is identical.
func readDocuments(files []dirFile, scope provider.Scope) ([]provider.Document, error) {
	byName, paths := map[string]provider.Document{}, map[string]string{}
	for _, f := range files {
		data, err := bounded.ReadFile(f.path, artifact.MaxDocumentSize)
		if err != nil {
			return nil, err
		}
		if other, exists := byName[f.name]; exists && !bytes.Equal(other.Bytes, data) {
			return nil, fmt.Errorf("%s and %s differ, but only one of them can be published", paths[f.name], f.path)
		}
		paths[f.name] = f.path
		mediaType, err := mediaTypeOf(f, data)
		if err != nil && strings.HasSuffix(f.name, ".bundle") {
			continue // earlier versions of cosign use this suffix for their own format
		}
		if err != nil {
			return nil, err
		}
		document := artifact.NewDocument(f.name, mediaType, data)
		document.Scope = scope
		byName[f.name] = document
	}
	var documents []provider.Document
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		documents = append(documents, byName[name])
	}
	return documents, nil
}

// ReadDocument reads a document of a known kind from a file or a pipe.
func ReadDocument(path string, kind provider.DocumentKind) (d provider.Document, err error) {
	data, err := bounded.ReadFileOrPipe(path, artifact.MaxDocumentSize)
	if err != nil {
		return d, err
	}
	mediaType := artifact.MediaTypeInToto
	if kind != provider.KindProvenance {
		if mediaType, err = artifact.DocumentType(kind, path, data); err != nil {
			return d, err
		}
	}
	name := filepath.Base(path)
	return artifact.NewDocument(name, mediaType, data), provider.CheckFilename(name)
}

// mediaTypeOf determines the media type of a document from its name. For an SBOM, it
// uses the content, because goreleaser doesn't prescribe a format.
func mediaTypeOf(f dirFile, data []byte) (string, error) {
	switch _, kind := provider.CutDocumentSuffix(f.name); {
	case strings.HasSuffix(f.name, "SHA256SUMS"):
		return artifact.MediaTypeSums, nil
	case kind == provider.KindProvenance:
		return artifact.MediaTypeInToto, nil
	case kind == provider.KindSigstore:
		return artifact.DocumentType(provider.KindSigstore, f.path, data)
	case kind == provider.KindSignature:
		return artifact.MediaTypeSignature, nil
	}
	return artifact.DocumentType(provider.KindSBOM, f.path, data)
}
