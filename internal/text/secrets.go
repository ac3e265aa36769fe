package text

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Secrets contains credentials that were sent to a server, because the server might
// repeat them in its response. The zero value hides nothing.
type Secrets []string

// minPart is the minimum length of a credential's prefix that is also hidden. Prefixes
// are hidden because servers, libraries, and error messages truncate long text.
const minPart = 16

// Text replaces the credentials in a response's text. It finds them in plain and base64
// form. These forms can be escaped for URLs, JSON, XML, or HTML.
func (s Secrets) Text(text string) string {
	var forms []string
	for _, secret := range s {
		if secret != "" {
			forms = append(forms, formsOf(secret)...)
		}
	}
	if len(forms) == 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		found := 0
		for _, form := range forms {
			for _, percent := range []bool{false, true} {
				if n, of := common(text, form, percent); of == len(form) || of >= minPart {
					found = max(found, n)
				}
			}
		}
		if found > 0 {
			b.WriteString(hidden)
			text = text[found:]
			continue
		}
		b.WriteByte(text[0])
		text = text[1:]
	}
	return b.String()
}

// common compares the starts of text and form. It returns the length of their common
// prefix in text and in form. If percent is true, text is part of a URL. Any byte of a
// URL can be escaped, because programs don't agree on the bytes that must be.
func common(text, form string, percent bool) (n, of int) {
	for n < len(text) && of < len(form) {
		b, size := text[n], 1
		if percent && b == '%' && n+2 < len(text) {
			if escaped, err := strconv.ParseUint(text[n+1:n+3], 16, 8); err == nil {
				b, size = byte(escaped), 3
			}
		}
		if b != form[of] && (!percent || b != '+' || form[of] != ' ') {
			break
		}
		n, of = n+size, of+1
	}
	return n, of
}

// Error returns an error that wraps err and whose text does not contain the
// credentials.
func (s Secrets) Error(err error) error {
	if err == nil {
		return nil
	}
	return WithText(err, s.Text(err.Error()))
}

// WithText returns an error that wraps err and has the given text. If err already has
// this text, WithText returns err.
func WithText(err error, text string) error {
	if text == err.Error() {
		return err
	}
	return &redactedError{text, err}
}

// redactedError wraps an error. Its Error method returns the redacted text.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }

func (e *redactedError) Unwrap() error { return e.err }

// known caches the forms of the latest secrets, because a run sends the same few secrets
// with thousands of requests.
var known, _ = lru.New[string, []string](256)

// formsOf returns all forms in which a secret can appear in text, without duplicates.
func formsOf(secret string) []string {
	if forms, ok := known.Get(secret); ok {
		return forms
	}
	forms := []string{secret}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		forms = append(forms, encoding.EncodeToString([]byte(secret)))
	}
	for _, form := range forms {
		forms = append(forms, escaped(form)...)
	}
	slices.Sort(forms)
	forms = slices.Compact(forms)
	known.Add(secret, forms)
	return forms
}

// markup escapes text for XML and HTML. Libraries escape quotes differently.
var markup = []*strings.Replacer{
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;"),
}

// escaped returns the escaped forms of text in JSON, XML, and HTML.
func escaped(text string) (forms []string) {
	for _, m := range markup {
		forms = append(forms, m.Replace(text))
	}
	var plain strings.Builder
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	if html, err := json.Marshal(text); err == nil && encoder.Encode(text) == nil {
		for _, quoted := range []string{string(html), strings.TrimSuffix(plain.String(), "\n")} {
			for _, inner := range []string{quoted[1 : len(quoted)-1], ascii(quoted[1:len(quoted)-1], `\u%04x`), ascii(quoted[1:len(quoted)-1], `\u%04X`)} {
				forms = append(forms, inner, strings.ReplaceAll(inner, "/", `\/`))
			}
		}
	}
	return forms
}

// ascii escapes non-ASCII characters for JSON, as some libraries do.
func ascii(text, format string) string {
	var b strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, format, unit)
		}
	}
	return b.String()
}
