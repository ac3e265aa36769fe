//go:build browser

package browser_test

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "take the screenshots of docs/serve.md again")

// maxScreenshot is the maximum size of a screenshot in bytes.
const maxScreenshot = 200_000

// TestScreenshots checks the screenshots in docs/serve.md. With -update, it replaces
// the screenshots.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		look look
		path string
	}{
		"serve-home.png":    {look{width: 1280, height: 860, theme: "light", script: true}, "/"},
		"serve-version.png": {look{width: 1280, height: 1000, theme: "light", script: true}, rocketPage + "/" + newest},
		"serve-phone.png":   {look{width: 360, height: 800, theme: "dark", script: true}, rocketPage + "/" + newest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(world.home, "..", "..", "docs", "images", name)
			b := open(t, world.site, test.look)
			b.visit(test.path)
			b.checkPage()
			picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			b.check("taking a picture", err)
			if *update {
				b.check("making the directory", os.MkdirAll(filepath.Dir(file), 0o755))
				b.check("writing the picture", os.WriteFile(file, picture, 0o644))
			}
			kept, err := os.ReadFile(file)
			b.check("reading the picture, which -update makes", err)
			drawn, err := png.DecodeConfig(bytes.NewReader(kept))
			if err != nil || int64(drawn.Width) != test.look.width || len(kept) > maxScreenshot {
				t.Errorf("%s has %d bytes and is %d pixels wide: %v", file, len(kept), drawn.Width, err)
			}
		})
	}
}
