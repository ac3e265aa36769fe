package source

import (
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// CheckSums checks packages against a SHA256SUMS document, whose content must be in
// memory. It returns one result per package, in the same order: nil, a
// *[sums.FileError], or a *[sums.MismatchError]. If the document is invalid, err is a
// *[sums.FileError].
func CheckSums(listed provider.Document, packages ...provider.Package) (wrong []error, err error) {
	file, err := sums.Parse(listed.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", listed.Name, err)
	}
	wrong = make([]error, len(packages))
	for i, p := range packages {
		wrong[i] = checkListed(file, p)
	}
	return wrong, nil
}

// checkListed checks a package under the name that its source uses and under its
// conventional name. SHA256SUMS must list at least one of these names, and every listed
// checksum must match.
func checkListed(file sums.File, p provider.Package) error {
	if p.ListedAs == "" {
		return file.Check(p.Filename, p.Digest)
	}
	byTitle, byName := file.Check(p.ListedAs, p.Digest), file.Check(p.Filename, p.Digest)
	if isUnlisted(byName) {
		return byTitle
	}
	if isUnlisted(byTitle) {
		return byName
	}
	return errors.Join(byTitle, byName)
}

func isUnlisted(err error) bool {
	unlisted, ok := errors.AsType[*sums.FileError](err)
	return ok && unlisted.Missing != ""
}

// VerifySums is like [CheckSums], but joins all errors.
func VerifySums(listed provider.Document, packages ...provider.Package) error {
	wrong, err := CheckSums(listed, packages...)
	if err != nil {
		return err
	}
	for i, problem := range wrong {
		if problem != nil {
			wrong[i] = fmt.Errorf("%s: %w", listed.Name, problem)
		}
	}
	return errors.Join(wrong...)
}

// GeneratedSums generates the SHA256SUMS of a release whose author provides none.
func GeneratedSums(r provider.Release) provider.Document {
	listed := map[string]digest.Digest{}
	for _, p := range r.Packages {
		listed[p.Filename] = p.Digest
	}
	d := artifact.NewDocument(provider.SumsName(r.Address, r.Version), artifact.MediaTypeSums, sums.New(listed).Bytes())
	d.Generated = true
	return d
}
