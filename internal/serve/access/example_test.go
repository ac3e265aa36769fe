package access_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// A server identifies the caller and checks which providers the caller can read. The
// rules file contains only hashes of tokens, and is reloaded when it changes.
func ExampleRules_Identify() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	token := "7f1c7d6dc1b5b0c7f1e6c0a1b2c3d4e5f60718293a4b5c6d7e8f901234567890"
	path := filepath.Join(dir, "serve.hcl")
	text := fmt.Sprintf(`
anonymous { allow = ["hashicorp/*"] }
token "ci" {
  sha256 = "%x"
  allow  = ["acme/*"]
}
`, sha256.Sum256([]byte(token)))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	file, err := access.Open(path, access.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}

	rocket, _ := provider.ParseAddress("acme/rocket")
	for _, bearer := range []string{token, "", "stolen"} {
		caller, err := file.Get().Identify(context.Background(), bearer)
		fmt.Printf("%q may read it: %t; denied: %t\n", caller.Name, caller.MayRead(rocket), errors.Is(err, access.ErrInvalidToken))
	}
	// Output:
	// "ci" may read it: true; denied: false
	// "" may read it: false; denied: false
	// "" may read it: false; denied: true
}

// Clients don't send credentials when they download an archive, so the link contains a
// token.
func ExampleArchiveKey() {
	key := access.NewArchiveKey() // replicas share a key file, see access.ReadArchiveKey
	address, _ := provider.ParseAddress("acme/rocket")
	version, _ := provider.ParseVersion("1.2.3")
	archive := access.Archive{Address: address, Stored: address, Version: version, Filename: "terraform-provider-rocket_1.2.3_linux_amd64.zip"}

	token := key.Token(archive, access.Caller{Name: "ci"}, time.Now().Add(time.Hour))
	caller, err := key.Check(token, archive)
	fmt.Println(caller.Name, caller.MayRead(address), err)

	archive.Filename = "terraform-provider-rocket_1.2.3_linux_arm64.zip"
	_, err = key.Check(token, archive)
	fmt.Println(err)
	// Output:
	// ci true <nil>
	// invalid token: the token is for a different archive, or was signed with a different key
}

// Each client can make one request per hour, with bursts of three.
func ExampleLimiter() {
	limiter := access.NewLimiter(1.0/3600, 3)
	from := netip.MustParseAddr("192.0.2.1")
	for range 4 {
		retryAfter, allowed := limiter.Allow(access.Caller{}, from)
		fmt.Println(allowed, retryAfter > 0)
	}
	// Output:
	// true false
	// true false
	// true false
	// false true
}
