package access_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Keys in the format of openssl rand -hex 32.
const (
	oneKey   = "8a5edab282632443219e051e4ade2d1d5bbc671c781051bf1437897cbdfea0f1"
	otherKey = "0f1e2d3c4b5a69788796a5b4c3d2e1f000112233445566778899aabbccddeeff"
)

func keyOf(t *testing.T, text string) access.ArchiveKey {
	t.Helper()
	key, err := access.ReadArchiveKey(keyFile(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func keyFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "archive.key")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func rocket(t *testing.T) access.Archive {
	t.Helper()
	return access.Archive{
		Address: nouns.Address(t, "acme/rocket"), Stored: provider.Address{}, Version: nouns.Version(t, "1.2.3"), Filename: "terraform-provider-rocket_1.2.3_plan9_mips.zip",
	}
}

var segment = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)

func TestArchiveTokens(t *testing.T) {
	t.Parallel()
	key := keyOf(t, oneKey+"\n")
	synctest.Test(t, func(t *testing.T) {
		a := rocket(t)
		expires := time.Now().Add(10 * time.Minute)
		for _, name := range []string{"", "ci", strings.Repeat("x", 96)} {
			caller := access.Caller{Name: name}
			token := key.Token(a, caller, expires)
			if !segment.MatchString(token) {
				t.Errorf("%q is not a path element of at most 200 unescaped characters", token)
			}
			if got, err := key.Check(token, a); got.Name != name || err != nil {
				t.Errorf("got %q, %v", got.Name, err)
			}
			if again := keyOf(t, oneKey).Token(a, caller, expires); again != token {
				t.Error("two replicas return different tokens for the same archive")
			}
		}
		token := key.Token(a, access.Caller{Name: "ci"}, expires)
		time.Sleep(10*time.Minute - time.Second)
		if _, err := key.Check(token, a); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if got, err := key.Check(token, a); got.Name != "" || !errors.Is(err, access.ErrInvalidToken) || !strings.Contains(err.Error(), `of "ci" expired at 2000-01-01T00:10:00Z`) {
			t.Errorf("got %q, %v", got.Name, err)
		}
	})
}

func TestArchiveTokenScope(t *testing.T) {
	t.Parallel()
	key, a := keyOf(t, oneKey), rocket(t)
	token := key.Token(a, access.Caller{Name: "ci"}, time.Now().Add(time.Hour))
	refused := func(name, token string, key access.ArchiveKey, a access.Archive) {
		t.Helper()
		if got, err := key.Check(token, a); got.Name != "" || got.MayRead(provider.Address{}) || !errors.Is(err, access.ErrInvalidToken) {
			t.Errorf("%s: got %q, %v", name, got.Name, err)
		} else if len(token) > 8 && strings.Contains(err.Error(), token[len(token)-8:]) {
			t.Errorf("%s: the error contains the token: %v", name, err)
		}
	}
	other := a
	other.Address = nouns.Address(t, "acme/rockets")
	refused("another type", token, key, other)
	other.Address = nouns.Address(t, "registry.terraform.io/acme/rocket")
	refused("another host", token, key, other)
	other = a
	other.Version = nouns.Version(t, "1.2.3+1")
	refused("another version", token, key, other)
	other = a
	other.Filename = strings.Replace(a.Filename, "mips", "386", 1)
	refused("another file", token, key, other)
	refused("another key", token, keyOf(t, otherKey), a)
	refused("a random key", token, access.NewArchiveKey(), a)
	refused("no key", token, access.ArchiveKey{}, a)
	refused("no key's token", access.ArchiveKey{}.Token(a, access.Caller{}, time.Now().Add(time.Hour)), access.ArchiveKey{}, a)
	for n := range len(token) {
		refused("truncated", token[:n], key, a)
	}
	refused("longer", token+"A", key, a)
	refused("much longer", token+strings.Repeat("A", 1<<20), key, a)
	refused("padded", token+"=", key, a)
	refused("a line break", token[:9]+"\n"+token[9:], key, a)
	refused("trailing line break", token+"\r\n", key, a)
	refused("anonymous token", "-", key, a)
	// Changing any bit or character must make the token invalid, because a token has
	// only one encoding.
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(raw) * 8 {
		changed := []byte(string(raw))
		changed[i/8] ^= 1 << (i % 8)
		refused(fmt.Sprint("bit ", i), base64.RawURLEncoding.EncodeToString(changed), key, a)
	}
	for _, last := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/" {
		if changed := token[:len(token)-1] + string(last); changed != token {
			refused("another last character", changed, key, a)
		}
	}
}

// TestArchiveTokenStoredAddress checks that a token is valid only for the address under
// which the release was stored when the token was issued.
func TestArchiveTokenStoredAddress(t *testing.T) {
	t.Parallel()
	key, a := keyOf(t, oneKey), rocket(t)
	stored := []provider.Address{{}, nouns.Address(t, "acme/rocket"), nouns.Address(t, "private.example.com/acme/rocket")}
	for _, made := range stored {
		a.Stored = made
		caller, err := key.Check(key.Token(a, access.Caller{}, time.Now().Add(time.Hour)), a)
		if err != nil {
			t.Fatal(err)
		}
		for _, now := range stored {
			if caller.MayRead(now) != (now == made) {
				t.Errorf("issued for %s: can read %s: %t", made, now, caller.MayRead(now))
			}
		}
	}
}

// TestArchiveKeyRotation checks that the first key signs and all keys verify.
func TestArchiveKeyRotation(t *testing.T) {
	t.Parallel()
	a, c, expires := rocket(t), access.Caller{}, time.Now().Add(time.Hour)
	old, both, next := keyOf(t, oneKey), keyOf(t, "# new\n"+otherKey+"\n\n# old\n"+oneKey+"\n"), keyOf(t, strings.ToUpper(otherKey)+"\r\n")
	for name, test := range map[string]struct {
		token string
		key   access.ArchiveKey
		want  bool
	}{
		"old by both":             {old.Token(a, c, expires), both, true},
		"new key at both servers": {both.Token(a, c, expires), next, true},
		"old key at both servers": {both.Token(a, c, expires), old, false},
		"old by new":              {old.Token(a, c, expires), next, false},
	} {
		if _, err := test.key.Check(test.token, a); (err == nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadArchiveKeyRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"empty":     {"", ":1:1: the file contains no key"},
		"comments":  {"# nothing\n\n", ":1:1: the file contains no key"},
		"short":     {oneKey + "\n" + oneKey[2:], ":2:1: invalid key: want at least 64 hexadecimal digits"},
		"odd":       {oneKey + "0", ":1:1: invalid key: want at least 64"},
		"no hex":    {strings.Repeat("secret!!", 8), ":1:1: invalid key: want at least 64"},
		"zeros":     {strings.Repeat("0", 64), ":1:1: the key is not random"},
		"a word":    {strings.Repeat("c0ffee", 12), ":1:1: the key is not random"},
		"many keys": {strings.Repeat(oneKey+"\n", 17), ":17:1: the file contains more than 16 keys"},
	} {
		path := keyFile(t, test.text)
		_, err := access.ReadArchiveKey(path)
		if e, ok := errors.AsType[*stricthcl.Error](err); !ok || !strings.HasPrefix(e.Error(), path+test.want) || strings.Contains(e.Error(), "secret") {
			t.Errorf("%s: got %v, want %s…", name, err, test.want)
		}
	}
	if _, err := access.ReadArchiveKey(keyFile(t, strings.Repeat("\n", 64<<10+1))); err == nil {
		t.Error("a large file is read")
	}
	if _, err := access.ReadArchiveKey(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestArchiveKeysOfOthers(t *testing.T) {
	t.Parallel()
	path := keyFile(t, oneKey)
	for mode, want := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: true, 0o440: true, 0o644: false, 0o604: false, 0o660: false, 0o602: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := access.ReadArchiveKey(path)
		if want = want || runtime.GOOS == "windows"; (err == nil) != want {
			t.Errorf("%o: %v", mode, err)
		}
	}
}

// TestKeysAreRedacted checks that printing a key doesn't reveal it.
func TestKeysAreRedacted(t *testing.T) {
	t.Parallel()
	key := keyOf(t, oneKey)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if got := fmt.Sprintf(verb, key) + fmt.Sprintf(verb, struct{ K access.ArchiveKey }{key}); strings.Count(got, "(secret)") != 2 || strings.Contains(got, "138 94") {
			t.Errorf("%s: %s", verb, got)
		}
	}
}
