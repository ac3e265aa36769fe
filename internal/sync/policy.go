package sync

import (
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// maxTrustFile is the maximum size of a trust file in bytes.
const maxTrustFile = 1 << 20

// Policy returns the policy with the rules of the trust file, and the digest of the
// trust file. Without a trust file, the digest is empty. env is a function such as
// [os.Getenv]. See [trust.Policy.WithEnvironment].
func (d *Declaration) Policy(env func(string) string) (p trust.Policy, of digest.Digest, err error) {
	if d.Trust != "" {
		data, err := bounded.ReadFileOrPipe(d.Trust, maxTrustFile)
		if err == nil {
			p.Rules, err = trust.ParseRules(d.Trust, data)
		}
		if err != nil {
			return p, "", fmt.Errorf("reading the trust file: %w", d.withoutSecrets(d.Trust, err))
		}
		of = digest.FromBytes(data)
	}
	return p.WithEnvironment(env), of, nil
}
