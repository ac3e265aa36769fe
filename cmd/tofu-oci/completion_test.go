package main_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
)

// TestCompletionRequests checks which requests a registry gets while PROVIDERs, MODULEs,
// and versions are being completed. Versions require only the list of tags.
func TestCompletionRequests(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	s := newRequestStage(t, 2, 1)
	from, modules := s.registryHost+"/built/{namespace}/{type}", s.registryHost+"/modules/{namespace}/{name}/{system}"
	for _, args := range [][]string{
		{"publish", filepath.Join(s.dir, "dist0"), filepath.Join(s.dir, "dist1"), "--provider", "acme/rocket", "--to", from},
		{"deny", "acme/rocket@1.1.0", "--reason", "old", "--to", from},
		{"module", "push", filepath.Dir(s.write(t, "vpc/main.tf", nil)), "--version", "1.0.0", "--to", s.registryHost + "/modules/acme/vpc/aws"},
	} {
		s.counted(t, args)
	}
	config := s.write(t, "mirror.tfrc", []byte(`provider_installation {
  oci_mirror {
    repository_template = "`+s.registryHost+`/built/${namespace}/${type}"
    include             = ["registry.opentofu.org/acme/*"]
  }
}
`))
	tags := map[registrytest.Kind]int{registrytest.Tags: 1}
	complete := func(word string, args ...string) (got []string, requests map[registrytest.Kind]int) {
		var out strings.Builder
		before := s.registry.Requests()
		if !slices.Contains(args, "--config") {
			args = append(args, s.network[2:4]...)
		}
		main.CompleteProviders(t.Context(), &out, word, slices.Concat(args, s.network[:2], []string{"--timeout", patience.Limit.String()}), patience.Limit)
		requests = s.registry.Requests()
		for kind, n := range before {
			if requests[kind] -= n; requests[kind] == 0 {
				delete(requests, kind)
			}
		}
		return strings.Fields(out.String()), requests
	}
	reference := "oci://" + s.registryHost + "/modules/acme/vpc/aws"
	for _, test := range []struct {
		word string
		args []string
		want []string
	}{
		{"acme/rocket@", []string{"list", "--from", from}, []string{"acme/rocket@1.2.0", "acme/rocket@1.0.0"}},
		{"acme/rocket@1.2", []string{"promote", "--to", from}, []string{"acme/rocket@1.2.0"}},
		{"acme/rocket@1.0", []string{"pull", "--config", config}, []string{"acme/rocket@1.0.0"}},
		{reference + "@1", []string{"verify"}, []string{reference + "@1.0.0"}},
		{"acme/vpc/aws@", []string{"module", "pull", "--from", modules}, []string{"acme/vpc/aws@1.0.0"}},
	} {
		got, requests := complete(test.word, test.args...)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", test.word, test.args, diff)
		}
		if diff := cmp.Diff(tags, requests); diff != "" {
			t.Errorf("%s: %v: requests (-want +got)\n%s", test.word, test.args, diff)
		}
	}
	for word, args := range map[string][]string{"acme/rocket": {"verify", "--config", config}, reference: {"module", "list", "--from", modules}} {
		if got, _ := complete(word, args...); !slices.Equal(got, []string{word}) {
			t.Errorf("%v: got %q, want %s", args, got, word)
		}
	}
	if got, requests := complete("other/rocket@", "list", "--from", "https://example.com/"); len(got) > 0 || len(requests) > 0 {
		t.Errorf("invalid --from: %q, %v", got, requests)
	}
}

// TestCompletionLimit checks that the completion ends after the time limit if the
// registry doesn't respond, and prints nothing.
func TestCompletionLimit(t *testing.T) {
	t.Parallel()
	s := newRequestStage(t, 1, 1)
	for _, kind := range []registrytest.Kind{registrytest.Tags, registrytest.Catalog} {
		s.registry.Misbehave(kind, origintest.Hang(), -1)
	}
	for word, args := range map[string][]string{
		"acme/rocket@": {"list", "--from", s.registryHost + "/x/{namespace}/{type}"}, "acme/": {"list", "--from", s.registryHost + "/x/{namespace}/{type}"},
		"acme/vpc/aws@": {"module", "pull", "--from", s.registryHost + "/x/{namespace}/{name}/{system}"}, "": {"module", "list", "--from", s.registryHost + "/x/{namespace}/{name}/{system}"},
	} {
		var out strings.Builder
		main.CompleteProviders(t.Context(), &out, word, slices.Concat(args, s.network[:4]), time.Millisecond)
		if out.Len() > 0 {
			t.Errorf("%v: %q: got %q", args, word, out.String())
		}
	}
}
