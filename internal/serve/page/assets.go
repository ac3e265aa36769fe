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

// mediaTypes has the media types of the assets by name.
var mediaTypes = map[string]string{
	"style.css": "text/css; charset=utf-8",
	"page.js":   "text/javascript; charset=utf-8",
	"icon.svg":  "image/svg+xml",
}

// OpenAsset returns an asset by name: "style.css", "page.js", or "icon.svg". It returns
// false if the asset doesn't exist.
func OpenAsset(name string) (Asset, bool) {
	mediaType, known := mediaTypes[name]
	if !known {
		return Asset{}, false
	}
	content, err := files.ReadFile("static/" + name)
	return Asset{mediaType, content}, err == nil
}

// Hash returns a hash of all assets. It is part of their paths, so that responses below
// /static/HASH/ can be cached forever.
func Hash() string { return hashOnce() }

var hashOnce = sync.OnceValue(func() string {
	const digits = 16
	sum := sha256.New()
	entries, err := fs.ReadDir(files, "static") // sorted
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
