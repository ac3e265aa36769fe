package text_test

import (
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

func TestIsDotGit(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".git", ".GIT", ".Git.", ".git ", ".git . .", "git~1", "GIT~1", ".g\u200cit", "\ufeff.git", ".gi\u2060t"} {
		if !text.IsDotGit(name) {
			t.Errorf("%q: got false", name)
		}
	}
	for _, name := range []string{"git", ".gitignore", ".github", "a.git", "git~2", ".gitt", ".g.it", "", "."} {
		if text.IsDotGit(name) {
			t.Errorf("%q: got true", name)
		}
	}
}
