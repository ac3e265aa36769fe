package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
)

// binary takes the armor off a signature: clients read a binary one only. What is none
// with armor stays as it is.
func binary(signature []byte) []byte {
	block, err := armor.Decode(bytes.NewReader(signature))
	if err != nil {
		return signature
	}
	raw, err := io.ReadAll(block.Body)
	if err != nil {
		return signature
	}
	return raw
}

// readable gives the keys that clients can read. They give up at one that they cannot.
func readable(keys []signingKey) []signingKey {
	var all []signingKey
	for _, k := range keys {
		if _, err := openpgp.ReadArmoredKeyRing(strings.NewReader(k.ASCIIArmor)); err == nil {
			all = append(all, k)
		}
	}
	return all
}

// accepted checks a signature as OpenTofu and Terraform do: key by key, until one has
// signed it; what has expired counts.
// https://github.com/opentofu/opentofu/blob/v1.12.6/internal/getproviders/package_authentication.go
func accepted(document, signature []byte, keys []signingKey) error {
	for _, k := range keys {
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(k.ASCIIArmor))
		if err != nil {
			return fmt.Errorf("clients cannot read the key: %w", err)
		}
		_, err = openpgp.CheckDetachedSignature(ring, bytes.NewReader(document), bytes.NewReader(signature), nil)
		switch {
		case errors.Is(err, pgperrors.ErrUnknownIssuer):
			continue
		case err == nil, errors.Is(err, pgperrors.ErrKeyExpired), errors.Is(err, pgperrors.ErrSignatureExpired):
			return nil
		}
		return fmt.Errorf("clients refuse the signature: %w", err)
	}
	return errors.New("no key that lies with it is one that clients find to have signed it")
}
