package page_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/page"
)

func TestWriteReplacesOnlyGeneratedText(t *testing.T) {
	t.Parallel()
	begin := page.Begin("here")
	others := page.Begin("there") + "theirs\n" + page.End
	got, err := page.Between(others+"before\n"+begin+"old\n"+page.End+"after\n", "here", "new\n")
	if want := others + "before\n" + begin + "\nnew\n\n" + page.End + "after\n"; got != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"", begin, page.End, page.End + begin, others} {
		if got, err := page.Between(text, "here", "new"); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestResultsHaveMarkers checks that e2e/RESULTS.md contains the comments of both
// targets.
func TestResultsHaveMarkers(t *testing.T) {
	t.Parallel()
	ours, err := os.ReadFile(filepath.Join("..", "RESULTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"bench-peers", "bench-serve"} {
		if _, err := page.Between(string(ours), target, "new"); err != nil {
			t.Errorf("e2e/RESULTS.md: %v", err)
		}
	}
}
