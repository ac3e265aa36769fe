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

// TypeDenial is the artifact type of the manifest that records why a version is denied, and the
// media type of its document.
const TypeDenial = "application/vnd.io.github.tofu-oci.denial.v1+json"

const (
	// maxDenialSize is the maximum size in bytes of a denial's or an approval's
	// document.
	maxDenialSize = 64 << 10
	// maxReason is the maximum size of a reason or a name in bytes.
	maxReason = 4 << 10
	// deniedPrefix is the prefix of the tags of denials. OpenTofu ignores such tags.
	deniedPrefix = "denied-"
)

// DeniedTag returns the tag of a version's denial: "denied-" and the [Tag] of the
// version.
func DeniedTag(v provider.Version) string { return deniedPrefix + Tag(v) }

// Denial records that a version must not be used. It contains no time, so equal denials have equal
// bytes.
type Denial struct {
	// Reason is free text. It is required.
	Reason string
	// By names the person who made the decision. It can be empty.
	By string
	// Packages contains the zips that the version had when it was denied. It is only
	// informational, because a denial applies to the version regardless of its zips.
	Packages map[provider.Platform]digest.Digest
}

// denialDocument is the JSON form of a denial.
type denialDocument struct {
	Reason   string                   `json:"reason"`
	By       string                   `json:"by,omitempty"`
	Packages map[string]digest.Digest `json:"packages"`
}

// Check returns an error if a denial can't be recorded.
func (d Denial) Check() error {
	if strings.TrimSpace(d.Reason) == "" {
		return errors.New("a denial requires a reason")
	}
	return checkTexts(d.Reason, d.By)
}

// checkTexts checks the reason and the name in a denial or an approval.
func checkTexts(reason, by string) error {
	switch {
	case len(reason) > maxReason:
		return fmt.Errorf("reason exceeds %d bytes", maxReason)
	case len(by) > maxReason:
		return fmt.Errorf("name exceeds %d bytes", maxReason)
	case !utf8.ValidString(reason) || !utf8.ValidString(by):
		return errors.New("reason or name is not valid UTF-8")
	}
	return nil
}

// Pack builds the manifest of a denial, which refers to the denied index.
func (d Denial) Pack(index ocispec.Descriptor) (Referrer, error) {
	if err := d.Check(); err != nil {
		return Referrer{}, err
	}
	document := denialDocument{Reason: d.Reason, By: d.By, Packages: map[string]digest.Digest{}}
	for platform, zip := range d.Packages {
		document.Packages[platform.String()] = zip
	}
	data, err := json.Marshal(document)
	if err != nil {
		return Referrer{}, err
	}
	// Different denials of an index have different names.
	name := "denial-" + digest.FromBytes(data).Encoded()[:12] + ".json"
	return PackReferrer(NewDocument(name, TypeDenial, data), index)
}

// ParseDenialManifest parses the manifest of a denial. It returns the descriptors of
// the denied index and of the document. For other content, the error is a
// *[FormatError].
func ParseDenialManifest(data []byte) (index, document ocispec.Descriptor, err error) {
	manifest, document, err := parseReferrer(data)
	switch {
	case err != nil:
		return index, document, err
	case manifest.MediaType != ocispec.MediaTypeImageManifest || manifest.ArtifactType != TypeDenial:
		return index, document, formatError("not a denial")
	case manifest.Subject == nil || manifest.Subject.Digest.Validate() != nil:
		return index, document, formatError("denial has no valid subject")
	case document.Size > maxDenialSize:
		return index, document, formatError("denial exceeds %d bytes", maxDenialSize)
	}
	return *manifest.Subject, document, nil
}

// ParseDenial parses the document of a denial. It ignores invalid platforms and
// digests, because a denial requires only a reason.
func ParseDenial(data []byte) (Denial, error) {
	var document denialDocument
	if len(data) > maxDenialSize {
		return Denial{}, formatError("denial exceeds %d bytes", maxDenialSize)
	}
	if err := bounded.DecodeJSON(data, &document, maxValues); err != nil {
		return Denial{}, formatError("invalid denial: %v", err)
	}
	d := Denial{Reason: document.Reason, By: document.By, Packages: map[provider.Platform]digest.Digest{}}
	for text, zip := range document.Packages {
		if platform, err := provider.ParsePlatform(text); err == nil && zip.Validate() == nil {
			d.Packages[platform] = zip
		}
	}
	return d, nil
}

// String returns the reason, followed by the name of the person who made the decision.
func (d Denial) String() string {
	if d.By == "" {
		return d.Reason
	}
	return d.Reason + " (" + d.By + ")"
}
