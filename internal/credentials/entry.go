package credentials

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// entry is a value of auths.
type entry struct {
	credential Credential
	// problem is what is wrong with the entry, "" for nothing.
	problem string
	// unread says why OpenTofu does not see a login here, "" when it does.
	skipped string
	// differs says how OpenTofu reads another login here, "" for the same one.
	differs string
	// stops says that OpenTofu stops at the entry where it is for the repository.
	stops bool
	// strict says that OpenTofu refuses the whole file for this entry.
	strict bool
}

// parseEntry reads an entry, as docker and podman login write it: auth is the
// base64 form of "username:password"
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
		return entry{problem: "is not an object of strings", strict: !acceptedByOpenTofu(data)}
	}
	username, password, padded := raw.Username, raw.Password, false
	if raw.Auth != "" {
		decoded, err := base64.StdEncoding.DecodeString(raw.Auth)
		if err != nil {
			return entry{problem: `has an "auth" that is not base64`, strict: true}
		}
		name, word, isPair := strings.Cut(string(decoded), ":")
		if !isPair {
			return entry{problem: `has an "auth" without a colon between username and password`, stops: true}
		}
		// Zero bytes around a password are none of it, as for Docker.
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
		e.differs = "OpenTofu does not know identitytoken"
	case raw.RegistryToken != "":
		e.differs = "OpenTofu does not know registrytoken"
	case padded:
		e.differs = "OpenTofu takes the zero bytes around the password for a part of it"
	case raw.Auth == "":
		e.differs = "OpenTofu reads username and password in auth only"
	}
	if raw.Auth == "" {
		e.skipped = e.differs
	}
	return e
}

// acceptedByOpenTofu reports whether OpenTofu can read the entry, of which it
// takes auth alone.
func acceptedByOpenTofu(data json.RawMessage) bool {
	var raw struct {
		Auth []byte `json:"auth"`
	}
	return json.Unmarshal(data, &raw) == nil
}
