package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// An archive's token consists of the format, the expiry in seconds since 1970 (8
// bytes), the stored address's hash (8 bytes), the HMAC-SHA-256 (32 bytes), and the
// caller's name (up to 96 bytes). An encoded token has at most 194 characters.
const (
	tokenForm  = 2
	expiresAt  = 1
	storedAt   = expiresAt + 8
	macAt      = storedAt + len(addressHash{})
	nameAt     = macAt + sha256.Size
	maxToken   = nameAt + maxName
	macPurpose = "tofu-oci archive"
)

// tokenEncoding uses only letters, digits, hyphens, and underscores, which clients
// don't escape. In strict mode, it accepts only one encoding of the same bytes.
var tokenEncoding = base64.RawURLEncoding.Strict()

// Archive identifies the file to which a token grants access.
type Archive struct {
	// Address is the requested address of the provider or module. Stored is the address
	// under which it is stored. See [Caller.MayRead].
	Address  provider.Address
	Stored   provider.Address
	Version  provider.Version
	Filename string
}

// Token returns a token that grants a caller access to an archive until the token
// expires. Anyone who has the token can use it and read the caller's name in it. The
// token is a path element of at most 200 letters, digits, hyphens, and underscores.
// Identical inputs result in identical tokens, so replicas that round the expiry return
// the same token. For the zero key, Token returns "".
func (k ArchiveKey) Token(a Archive, c Caller, expires time.Time) string {
	if len(k.keys) == 0 {
		return ""
	}
	token := make([]byte, nameAt, maxToken)
	token[0] = tokenForm
	binary.BigEndian.PutUint64(token[expiresAt:], uint64(max(expires.Unix(), 0)))
	hash := hashOf(a.Stored)
	copy(token[storedAt:], hash[:])
	token = append(token, c.Name[:min(len(c.Name), maxName)]...)
	copy(token[macAt:], a.sign(k.keys[0], token))
	return tokenEncoding.EncodeToString(token)
}

// Check returns the caller to which a token was issued. The token must be unexpired and
// signed for this archive by one of the keys. The caller can read only releases that
// are stored under the address in the token. As soon as the server knows the address
// under which a release is stored, it must pass this address to MayRead. Errors wrap
// [ErrInvalidToken].
func (k ArchiveKey) Check(token string, a Archive) (Caller, error) {
	// 1. Check the form, because the decoder would accept line breaks.
	bytes, err := tokenEncoding.DecodeString(token)
	if err != nil || strings.ContainsAny(token, "\r\n") || len(bytes) < nameAt || len(bytes) > maxToken || bytes[0] != tokenForm {
		return Caller{}, fmt.Errorf("%w: not a token for an archive", ErrInvalidToken)
	}
	// 2. Verify the HMAC. Always try all keys, so that the time doesn't depend on the
	// key.
	isValid := false
	for _, key := range k.keys {
		isValid = hmac.Equal(a.sign(key, bytes), bytes[macAt:nameAt]) || isValid
	}
	if !isValid {
		return Caller{}, fmt.Errorf("%w: the token is for a different archive, or was signed with a different key", ErrInvalidToken)
	}
	// 3. Check the expiry, which is trustworthy only after the verification.
	name := string(bytes[nameAt:])
	if expiry := binary.BigEndian.Uint64(bytes[expiresAt:]); uint64(max(time.Now().Unix(), 0)) >= expiry {
		return Caller{}, fmt.Errorf("%w: the token of %q expired at %s", ErrInvalidToken, name, time.Unix(int64(min(expiry, 1<<40)), 0).UTC().Format(time.RFC3339))
	}
	return Caller{Name: name, link: true, stored: addressHash(bytes[storedAt:macAt])}, nil
}

// sign returns the HMAC of a token's other fields and of the archive. Each part is
// preceded by its length, so that different archives never result in the same bytes.
func (a Archive) sign(key, token []byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range []string{
		macPurpose, string(token[:macAt]), string(token[nameAt:]), a.Address.ASCII(), a.Version.String(), a.Filename,
	} {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write([]byte(part))
	}
	return mac.Sum(nil)
}
