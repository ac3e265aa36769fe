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

// The bytes of an archive's token are its form, when it expires in seconds since 1970
// (8 bytes), a hash of the address that the archive is stored as (8 bytes), the
// HMAC-SHA-256 (32 bytes), and the caller's name (up to 96): 194 characters at most.
const (
	tokenForm  = 2
	expiresAt  = 1
	storedAt   = expiresAt + 8
	macAt      = storedAt + len(addressHash{})
	nameAt     = macAt + sha256.Size
	maxToken   = nameAt + maxName
	macPurpose = "tofu-oci archive"
)

// tokenEncoding has letters, digits, - and _ only, which no client escapes, and one
// text for the same bytes.
var tokenEncoding = base64.RawURLEncoding.Strict()

// Archive is what a token is for: one file of one version of a provider.
type Archive struct {
	// Address is the requested address, and Stored the address that the release is stored
	// as, or the zero value if it is unknown.
	Address  provider.Address
	Stored   provider.Address
	Version  provider.Version
	Filename string
}

// Token signs that a caller may have an archive for some time. It is a path segment of
// letters, digits, - and _, of at most 200 characters, which anybody who has it can
// use; the caller's name can be read out of it. Equal input gives equal tokens, so
// replicas that round the time answer alike. The zero key gives an empty text.
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

// Check returns the caller that a token was issued to, if one of the keys signed it for this
// archive and it has not expired. The caller may read only releases that are stored as the
// address in the token. That has to be checked once the stored address is known. Errors
// wrap [ErrDenied] with a reason.
func (k ArchiveKey) Check(token string, a Archive) (Caller, error) {
	// 1. Its form. The decoder would let line breaks pass.
	bytes, err := tokenEncoding.DecodeString(token)
	if err != nil || strings.ContainsAny(token, "\r\n") || len(bytes) < nameAt || len(bytes) > maxToken || bytes[0] != tokenForm {
		return Caller{}, fmt.Errorf("%w: not a token for an archive", ErrDenied)
	}
	// 2. Who made it, and for what. All keys are tried, whichever is right.
	isValid := false
	for _, key := range k.keys {
		isValid = hmac.Equal(a.sign(key, bytes), bytes[macAt:nameAt]) || isValid
	}
	if !isValid {
		return Caller{}, fmt.Errorf("%w: it is for another archive, or was made with another key", ErrDenied)
	}
	// 3. Until when. Only a token that is ours says so.
	name := string(bytes[nameAt:])
	if at := binary.BigEndian.Uint64(bytes[expiresAt:]); uint64(max(time.Now().Unix(), 0)) >= at {
		return Caller{}, fmt.Errorf("%w: the archive's token of %q expired at %s", ErrDenied, name, time.Unix(int64(min(at, 1<<40)), 0).UTC().Format(time.RFC3339))
	}
	return Caller{Name: name, link: true, stored: addressHash(bytes[storedAt:macAt])}, nil
}

// sign covers a token, its HMAC aside, and what it is for. Each part has its length in
// front, so that no two archives give the same bytes.
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
