package text_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// TestSecretsInText looks for a credential in each form in which a server can repeat
// it.
func TestSecretsInText(t *testing.T) {
	t.Parallel()
	const password = `p"<ä>&/?+ü\ %???>>>'😀canary`
	long := strings.Repeat("eyJhbGciOiJIUzI1NiJ9.", 20) + "canary"
	secrets := text.Secrets{"", password, "jane:" + password, long}
	quoted, err := json.Marshal(password)
	if err != nil {
		t.Fatal(err)
	}
	std := base64.StdEncoding.EncodeToString([]byte("jane:" + password))
	if !strings.ContainsAny(std, "/+") {
		t.Fatalf("%s has nothing to escape", std)
	}
	for name, text := range map[string]string{
		"plain":                   password,
		"twice":                   password + password,
		"base64":                  base64.StdEncoding.EncodeToString([]byte(password)),
		"raw base64":              base64.RawStdEncoding.EncodeToString([]byte(password)),
		"base64 for URLs":         base64.URLEncoding.EncodeToString([]byte(password)),
		"raw base64 for URLs":     base64.RawURLEncoding.EncodeToString([]byte(password)),
		"both in base64":          std,
		"in a query":              url.QueryEscape(password),
		"in a path":               url.PathEscape(password),
		"in small letters":        strings.NewReplacer("%C3", "%c3", "%3F", "%3f", "%2F", "%2f", "%2B", "%2b", "%BC", "%bc", "%A4", "%a4", "%3C", "%3c", "%3E", "%3e", "%5C", "%5c", "%F0", "%f0", "%9F", "%9f").Replace(url.QueryEscape(password)),
		"in a path with slashes":  strings.ReplaceAll(url.PathEscape(password), "%2F", "/"),
		"as user information":     strings.TrimPrefix(url.UserPassword("", password).String(), ":"),
		"each byte escaped":       eachByte(password),
		"the login with slashes":  strings.ReplaceAll(url.QueryEscape("jane:"+password), "%2F", "/"),
		"in JSON":                 strings.Trim(string(quoted), `"`),
		"in JSON of ASCII":        strings.NewReplacer(`\`, `\\`, `"`, `\"`, "ä", `\u00e4`, "ü", `\u00fc`, "😀", `\ud83d\ude00`).Replace(password),
		"in HTML":                 html.EscapeString(password),
		"in XML":                  strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(password),
		"in JSON without <":       strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(password),
		"base64 in a query":       url.QueryEscape(std),
		"base64 as PHP writes it": strings.ReplaceAll(std, "/", `\/`),
		"truncated":               long[:50],
		"truncated base64":        std[:20],
	} {
		got := secrets.Text("Basic <" + text + "> is wrong")
		if want := "Basic <" + strings.Repeat("***", max(strings.Count(text, password), 1)) + "> is wrong"; got != want {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
	if got := secrets.Text("jane has no access"); got != "jane has no access" {
		t.Errorf("%q", got)
	}
	if got := (text.Secrets{""}).Text("all"); got != "all" {
		t.Errorf("%q", got)
	}
}

// TestSecretWithEscapes checks a secret that looks like escaped text.
func TestSecretWithEscapes(t *testing.T) {
	t.Parallel()
	const secret = "a%2Fb%25c"
	for _, written := range []string{secret, url.QueryEscape(secret), eachByte(secret)} {
		if got := (text.Secrets{secret}).Text(written + "%2"); got != "***%2" {
			t.Errorf("%q became %q", written, got)
		}
	}
}

func eachByte(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}

func TestSecretsInError(t *testing.T) {
	t.Parallel()
	secrets := text.Secrets{"canary"}
	err := secrets.Error(errors.Join(errors.New("no canary"), io.EOF))
	if err.Error() != "no ***\nEOF" || !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	if err := secrets.Error(io.EOF); err != io.EOF {
		t.Errorf("%T", err)
	}
	if err := secrets.Error(nil); err != nil {
		t.Errorf("%v", err)
	}
}
