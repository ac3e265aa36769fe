package credentials

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// entry is a value in auths.
type entry struct {
	credential Credential
	// problem explains why the entry is invalid. It is empty if the entry is valid.
	problem string
	// skipped explains why OpenTofu finds no credentials in the entry. It is empty if
	// OpenTofu finds credentials.
	skipped string
	// differs explains why OpenTofu doesn't read the same credentials from the entry as
	// this package. It is empty if OpenTofu does.
	differs string
	// stops explains why OpenTofu fails if the entry matches the repository. It is
	// empty if OpenTofu does not fail.
	stops string
	// strict reports whether OpenTofu rejects the whole file because of this entry.
	strict bool
}

// parseEntry parses an entry that docker login or podman login wrote. In an entry, auth
// is the base64 encoding of "username:password"
// (https://github.com/docker/cli/blob/v28.3.0/cli/config/types/authconfig.go).
func parseEntry(data json.RawMessage) entry {
	var raw struct {
		Auth          string `json:"auth"`
		Username      string `json:"username"`
		Password      string `json:"password"`
		IdentityToken string `json:"identitytoken"`
		RegistryToken string `json:"registrytoken"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return entry{problem: "is not a JSON object with string values", strict: !acceptedByOpenTofu(data)}
	}
	username, password, padded := raw.Username, raw.Password, false
	if raw.Auth != "" {
		decoded, err := base64.StdEncoding.DecodeString(raw.Auth)
		if err != nil {
			return entry{problem: `has an "auth" that is not valid base64`, strict: true}
		}
		name, word, isPair := strings.Cut(string(decoded), ":")
		if !isPair {
			return entry{problem: `has an "auth" without a colon between username and password`, stops: `has an "auth" without a colon`}
		}
		// Like Docker, remove zero bytes at the start and end of a password.
		username, password = name, strings.Trim(word, "\x00")
		padded = password != word
	}
	e := entry{credential: Credential{
		Username:      username,
		Password:      text.NewSecret(password),
		IdentityToken: text.NewSecret(raw.IdentityToken),
		RegistryToken: text.NewSecret(raw.RegistryToken),
	}}
	switch {
	case raw.IdentityToken != "":
		e.differs = "OpenTofu does not support identitytoken"
	case raw.RegistryToken != "":
		e.differs = "OpenTofu does not support registrytoken"
	case padded:
		e.differs = "OpenTofu treats the zero bytes around the password as part of the password"
	case raw.Auth == "":
		e.differs = "OpenTofu reads username and password only from auth"
	}
	if raw.Auth == "" {
		e.skipped = e.differs
	}
	return e
}

// acceptedByOpenTofu reports whether OpenTofu can read the entry. OpenTofu reads only
// auth.
func acceptedByOpenTofu(data json.RawMessage) bool {
	var raw struct {
		Auth []byte `json:"auth"`
	}
	return json.Unmarshal(data, &raw) == nil
}
