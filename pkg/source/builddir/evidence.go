package builddir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// addEvidence takes a file that is named like evidence of a release that zips
// were found of; belongs tells whether it is.
func (s *Source) addEvidence(f dirFile) (belongs bool, err error) {
	for v, r := range s.releases {
		if r.add(s.address, v, f) {
			return true, nil
		}
	}
	stem := "terraform-provider-" + s.address.Type
	if !slices.ContainsFunc(provider.DocumentEndings(), func(ending string) bool { return f.name == stem+ending }) {
		return false, nil
	}
	if len(s.releases) > 1 {
		return false, fmt.Errorf("%s covers a release, but there are several versions: put the version into its name, as in %s_VERSION%s",
			f.path, stem, strings.TrimPrefix(f.name, stem))
	}
	for _, r := range s.releases {
		r.referrers = append(r.referrers, f)
	}
	return true, nil
}

// add takes a file whose name says that it belongs to the version.
func (r *dirRelease) add(a provider.Address, v provider.Version, f dirFile) bool {
	listing, stem := provider.SumsName(a, v), fmt.Sprintf("terraform-provider-%s_%s", a.Type, v)
	switch {
	case f.name == listing:
		r.sums = append(r.sums, f)
		return true
	case f.name == stem+"_manifest.json":
		r.manifest = f
		return true
	case endsIn(f.name, listing, provider.SignatureEndings()), f.name == listing+provider.SigstoreEnding:
		r.signatures = append(r.signatures, f)
		return true
	case endsIn(f.name, stem, provider.DocumentEndings()):
		r.referrers = append(r.referrers, f)
		return true
	}
	for platform, p := range r.packages {
		zip := p.zip.name
		if endsIn(f.name, zip, provider.SignatureEndings()) || endsIn(f.name, zip, provider.DocumentEndings()) ||
			endsIn(f.name, strings.TrimSuffix(zip, ".zip"), provider.DocumentEndings()) {
			p.evidence = append(p.evidence, f)
			r.packages[platform] = p
			return true
		}
	}
	return false
}

func endsIn(name, stem string, endings []string) bool {
	ending, found := strings.CutPrefix(name, stem)
	return found && slices.Contains(endings, ending)
}

// evidence returns SHA256SUMS and its signatures. Without a file, the sums are
// made of the zips.
func (r *dirRelease) evidence(of provider.Release) ([]provider.Document, error) {
	if len(r.sums) == 0 {
		if len(r.signatures) > 0 {
			return nil, fmt.Errorf("%s is there without the %s that it signs", r.signatures[0].path, provider.SumsName(of.Address, of.Version))
		}
		return []provider.Document{source.GeneratedSums(of)}, nil
	}
	return readDocuments(slices.Concat(r.sums, r.signatures), provider.ScopeRelease)
}

// protocols reads the plugin protocol versions of a registry manifest, the
// file that publishers of the public registry write.
func (r *dirRelease) protocols() ([]string, error) {
	if r.manifest.path == "" {
		return nil, nil
	}
	data, err := bounded.ReadFile(r.manifest.path, artifact.MaxDocumentSize)
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Metadata struct {
			Protocols []string `json:"protocol_versions"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", r.manifest.path, bounded.JSONError(err))
	}
	return provider.SortProtocols(manifest.Metadata.Protocols), nil
}

// readDocuments reads whole documents, sorted by name. Of several directories
// each may have one, if all are the same.
func readDocuments(files []dirFile, scope provider.Scope) ([]provider.Document, error) {
	byName, paths := map[string]provider.Document{}, map[string]string{}
	for _, f := range files {
		data, err := bounded.ReadFile(f.path, artifact.MaxDocumentSize)
		if err != nil {
			return nil, err
		}
		if other, twice := byName[f.name]; twice && !bytes.Equal(other.Bytes, data) {
			return nil, fmt.Errorf("%s and %s differ, and only one of them can be published", paths[f.name], f.path)
		}
		paths[f.name] = f.path
		mediaType, err := mediaTypeOf(f, data)
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

// mediaTypeOf goes by the name, and by the content of an SBOM, whose format
// goreleaser leaves to the user.
func mediaTypeOf(f dirFile, data []byte) (string, error) {
	switch {
	case strings.HasSuffix(f.name, "SHA256SUMS"):
		return artifact.MediaTypeSums, nil
	case strings.HasSuffix(f.name, ".intoto.jsonl"):
		return artifact.MediaTypeInToto, nil
	case strings.HasSuffix(f.name, provider.SigstoreEnding):
		return artifact.SigstoreType(f.path, data)
	case slices.ContainsFunc(provider.SignatureEndings(), func(ending string) bool { return strings.HasSuffix(f.name, ending) }):
		return artifact.MediaTypeSignature, nil
	}
	return artifact.SBOMType(f.path, data)
}
