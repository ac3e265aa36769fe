//go:build browser

// Package browser_test looks at the pages of tofu-oci serve with a real browser, as
// people do: with and without scripts, in both themes, on a phone and on a desk. make
// browser runs it; it needs Chromium, and axe-core from npm.
package browser_test
