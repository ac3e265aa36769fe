//go:build browser

// Package browser_test tests the web pages of tofu-oci serve in a real browser: with
// and without JavaScript, in both themes, and on phone and desktop screens. make
// browser runs the tests, which require Chromium and axe-core from npm.
package browser_test
