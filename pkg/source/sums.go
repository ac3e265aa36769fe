package source

import (
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// CheckSums holds packages against a SHA256SUMS document that is in memory. It
// gives what is wrong with each package, in their order: nil, a
// *[sums.FileError] or a *[sums.MismatchError]. The error is that of a
// document that cannot be read, a *[sums.FileError].
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

// checkListed looks a package up by the name that it has where it comes from, and
// by its conventional one. One of them has to be listed, and all that are have to
// fit.
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

// VerifySums is [CheckSums] with all that is wrong in one error.
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

// GeneratedSums makes the SHA256SUMS of a release whose publisher made none.
func GeneratedSums(r provider.Release) provider.Document {
	listed := map[string]digest.Digest{}
	for _, p := range r.Packages {
		listed[p.Filename] = p.Digest
	}
	d := artifact.NewDocument(provider.SumsName(r.Address, r.Version), artifact.MediaTypeSums, sums.New(listed).Bytes())
	d.Generated = true
	return d
}
