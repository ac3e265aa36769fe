package pull_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

func TestUnpackedSinkRefuses(t *testing.T) {
	t.Parallel()
	good := sinkZip(t, "one", "terraform-provider-x")
	lied := sinkPackage(t, good)
	lied.H1 = sinkPackage(t, sinkZip(t, "two", "terraform-provider-x")).H1
	escaping := sinkZip(t, "one", "terraform-provider-x", "../../outside")
	page := []byte("<html>sign in</html>")
	tests := []struct {
		test string
		p    provider.Package
		data []byte
		want func(error) bool
	}{
		{"another h1", lied, good, func(err error) bool {
			var mismatch *sums.MismatchError
			return errors.As(err, &mismatch) && mismatch.Name == sinkZipName+" h1" && mismatch.Want == lied.H1
		}},
		{"an archive that breaks the rules", sinkPackage(t, escaping), escaping, func(err error) bool {
			return errors.Is(err, packagezip.ErrArchive) && strings.Contains(err.Error(), `"../../outside"`)
		}},
		{"no archive", provider.Package{
			Address: lied.Address, Version: lied.Version, Platform: lied.Platform, Filename: sinkZipName,
			Digest: digest.FromBytes(page), Size: int64(len(page)),
		}, page, func(err error) bool { return err != nil }},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			outer := t.TempDir()
			s, err := pull.NewSink(pull.LayoutUnpacked, filepath.Join(outer, "dir"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.Put(t.Context(), test.p, opening(bytes.NewReader(test.data))); !test.want(err) {
				t.Errorf("unexpected error %v", err)
			}
			checkSinkFiles(t, outer, map[string]string{})
		})
	}
}
