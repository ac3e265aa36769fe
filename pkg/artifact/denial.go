package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TypeDenial marks the manifest that says why a release was not approved, and is
// the media type of its document.
const TypeDenial = "application/vnd.io.github.tofu-oci.denial.v1+json"

const (
	// maxDenialSize bounds the document of a denial, in bytes.
	maxDenialSize = 64 << 10
	// maxReason bounds a reason, and a name, in bytes.
	maxReason = 4 << 10
	// deniedPrefix begins the tag of a denial, which is no version either.
	deniedPrefix = "denied-"
)

// DeniedTag is the tag under which the denial of a version lies: "denied-" and its
// [Tag].
func DeniedTag(v provider.Version) string { return deniedPrefix + Tag(v) }

// Denial says that a version is not to be used. Packages lists the zips that the
// version had when it was denied, for information only: the denial applies to the version,
// whatever its zips are. It contains no time, so equal denials have equal bytes.
type Denial struct {
	// Reason is for people, any text.
	Reason string
	// By names who decided; empty where nobody said.
	By       string
	Packages map[provider.Platform]digest.Digest
}

// denialDocument is a denial as it is written.
type denialDocument struct {
	Reason   string                   `json:"reason"`
	By       string                   `json:"by,omitempty"`
	Packages map[string]digest.Digest `json:"packages"`
}

// Check returns an error if a denial can't be recorded.
func (d Denial) Check() error {
	if strings.TrimSpace(d.Reason) == "" {
		return errors.New("a denial needs a reason")
	}
	return checkTexts(d.Reason, d.By)
}

// checkTexts checks the texts of a denial or an approval.
func checkTexts(reason, by string) error {
	switch {
	case len(reason) > maxReason:
		return fmt.Errorf("the reason exceeds %d bytes", maxReason)
	case len(by) > maxReason:
		return fmt.Errorf("the name exceeds %d bytes", maxReason)
	case !utf8.ValidString(reason) || !utf8.ValidString(by):
		return errors.New("the reason or the name is not valid UTF-8")
	}
	return nil
}

// Pack builds the manifest of a denial, which refers to the denied index.
func (d Denial) Pack(index ocispec.Descriptor) (Referrer, error) {
	if err := d.Check(); err != nil {
		return Referrer{}, err
	}
	written := denialDocument{Reason: d.Reason, By: d.By, Packages: map[string]digest.Digest{}}
	for platform, zip := range d.Packages {
		written.Packages[platform.String()] = zip
	}
	data, err := json.Marshal(written)
	if err != nil {
		return Referrer{}, err
	}
	// Another denial of the same index is another document.
	name := "denial-" + digest.FromBytes(data).Encoded()[:12] + ".json"
	return PackReferrer(NewDocument(name, TypeDenial, data), index)
}

// ParseDenialManifest reads the manifest of a denial: which index it is about, and
// the document to read. Something else is a *[FormatError].
func ParseDenialManifest(data []byte) (index, document ocispec.Descriptor, err error) {
	manifest, document, err := parseReferrer(data)
	switch {
	case err != nil:
		return index, document, err
	case manifest.MediaType != ocispec.MediaTypeImageManifest || manifest.ArtifactType != TypeDenial:
		return index, document, formatError("is not a denial")
	case manifest.Subject == nil || manifest.Subject.Digest.Validate() != nil:
		return index, document, formatError("is a denial without a valid subject")
	case document.Size > maxDenialSize:
		return index, document, formatError("is a denial that exceeds %d bytes", maxDenialSize)
	}
	return *manifest.Subject, document, nil
}

// ParseDenial reads the document of a denial. What is no platform or digest in it is
// left out: a reason alone is one too.
func ParseDenial(data []byte) (Denial, error) {
	var written denialDocument
	if len(data) > maxDenialSize {
		return Denial{}, formatError("is a denial of more than %d bytes", maxDenialSize)
	}
	if err := bounded.DecodeJSON(data, &written, maxValues); err != nil {
		return Denial{}, formatError("is a denial that can't be read: %v", err)
	}
	d := Denial{Reason: written.Reason, By: written.By, Packages: map[provider.Platform]digest.Digest{}}
	for text, zip := range written.Packages {
		if platform, err := provider.ParsePlatform(text); err == nil && zip.Validate() == nil {
			d.Packages[platform] = zip
		}
	}
	return d, nil
}

// String returns the reason, and who decided.
func (d Denial) String() string {
	if d.By == "" {
		return d.Reason
	}
	return d.Reason + " (" + d.By + ")"
}
