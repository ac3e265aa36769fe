//go:build browser

package browser_test

import (
	"os"
	"path/filepath"
	"sync"
)

// axe returns the source of axe-core, which finds accessibility problems. npm ci
// installs axe-core.
var axe = sync.OnceValues(func() (string, error) {
	program, err := os.ReadFile(filepath.Join(world.home, "node_modules", "axe-core", "axe.min.js"))
	return string(program), err
})

// violation is an accessibility problem that axe-core found.
type violation struct {
	ID, Impact, Help string
	Nodes            []struct{ HTML, FailureSummary string }
}

// accessible fails the test for each violation that axe-core finds on the page.
func (b *tab) accessible() {
	b.Helper()
	program, err := axe()
	b.check("reading axe-core, which npm ci installs", err)
	const ask = `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations)`
	for _, v := range eval[[]violation](b, program+";\n"+ask) {
		for _, node := range v.Nodes {
			b.Errorf("%s: axe %s (%s): %s\n%s\n%s", b.location(), v.ID, v.Impact, v.Help, node.HTML, node.FailureSummary)
		}
	}
}

// fits fails the test if the page is wider than the screen.
func (b *tab) fits() {
	b.Helper()
	if over := eval[float64](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
		b.Errorf("%s is %v pixels wider than the screen: %s", b.location(), over, eval[string](b, widest))
	}
}

// widest is an expression that returns the element that extends farthest to the right.
const widest = `[...document.querySelectorAll("main *")].sort((a, b) => b.getBoundingClientRect().right - a.getBoundingClientRect().right)[0].outerHTML.slice(0, 200)`
