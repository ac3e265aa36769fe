package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"sync"
)

//go:embed static templates
var files embed.FS

// Asset is a static file that pages link to.
type Asset struct {
	MediaType string
	Content   []byte
}

// mediaTypes maps the names of the assets to their media types.
var mediaTypes = map[string]string{
	"style.css": "text/css; charset=utf-8",
	"page.js":   "text/javascript; charset=utf-8",
	"icon.svg":  "image/svg+xml",
}

// OpenAsset returns the asset with the given name: "style.css", "page.js", or
// "icon.svg". If the asset doesn't exist, it returns false.
func OpenAsset(name string) (Asset, bool) {
	mediaType, known := mediaTypes[name]
	if !known {
		return Asset{}, false
	}
	content, err := files.ReadFile("static/" + name)
	return Asset{mediaType, content}, err == nil
}

// Hash returns a hash of all assets. The assets' paths contain the hash, so that
// responses below /static/HASH/ can be cached forever.
func Hash() string { return hashOnce() }

var hashOnce = sync.OnceValue(func() string {
	const digits = 16
	sum := sha256.New()
	entries, err := fs.ReadDir(files, "static") // the entries are sorted
	if err != nil {
		return "-" // embedded files are always readable
	}
	for _, e := range entries {
		content, _ := files.ReadFile("static/" + e.Name())
		sum.Write([]byte(e.Name()))
		sum.Write(content)
	}
	return hex.EncodeToString(sum.Sum(nil))[:digits]
})
