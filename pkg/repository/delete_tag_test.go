package repository_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestDeleteTag checks that DeleteTag removes only the tag. The manifest and its other tags
// remain.
func TestDeleteTag(t *testing.T) {
	t.Parallel()
	eachRepository(t, func(t *testing.T, open func() repository.Repository) {
		x, y := index(t, "a"), index(t, "b")
		untag := func(tag string, was string) error {
			return open().Capabilities().DeleteTag(t.Context(), tag, map[string]digest.Digest{"x": x.Descriptor.Digest, "y": y.Descriptor.Digest}[was])
		}
		if err := untag("1.2.3", "x"); err != nil {
			t.Errorf("of nothing: %v", err)
		}
		pushTag(t, open(), x, "1.2.3", "")
		pushTag(t, open(), x, "pending-1.2.3", "")
		if err := untag("pending-1.2.3", "y"); !errors.Is(err, repository.ErrTagMoved) || !strings.Contains(err.Error(), "pending-1.2.3") {
			t.Errorf("at another index: %v", err)
		}
		for range 2 { // deleting a missing tag succeeds
			if err := untag("pending-1.2.3", "x"); err != nil {
				t.Error(err)
			}
		}
		tags, err := open().Tags(t.Context())
		if diff := cmp.Diff([]string{"1.2.3"}, tags); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
		for _, reference := range []string{"1.2.3", x.Descriptor.Digest.String()} {
			if _, _, err := open().Manifest(t.Context(), reference); err != nil {
				t.Errorf("%s went along: %v", reference, err)
			}
		}
	})
}

// errTrouble represents an inconclusive response.
var errTrouble = errors.New("500")

// TestDeleteTagRefused checks that DeleteTag determines whether the tag still exists,
// regardless of the registry's response.
func TestDeleteTagRefused(t *testing.T) {
	t.Parallel()
	swallow := func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) { w.WriteHeader(http.StatusAccepted) }
	for name, test := range map[string]struct {
		fault origintest.Fault
		times int
		want  error
	}{
		"405":                 {registrytest.Refuse(http.StatusMethodNotAllowed, "UNSUPPORTED", "no"), -1, repository.ErrTagNotDeleted},
		"400":                 {origintest.Status(http.StatusBadRequest), -1, repository.ErrTagNotDeleted},
		"404 of everything":   {origintest.Status(http.StatusNotFound), -1, repository.ErrTagNotDeleted},
		"501":                 {origintest.Status(http.StatusNotImplemented), -1, repository.ErrTagNotDeleted},
		"a login without":     {origintest.Status(http.StatusForbidden), -1, repository.ErrTagNotDeleted},
		"and reports it":      {origintest.Status(http.StatusForbidden), -1, provider.ErrForbidden},
		"yes, and does not":   {swallow, -1, repository.ErrTagNotDeleted},
		"503 once":            {origintest.Status(http.StatusServiceUnavailable), 1, nil},
		"reset once":          {origintest.Reset(0), 1, nil},
		"500 again and again": {origintest.Status(http.StatusInternalServerError), -1, errTrouble},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, registrytest.Options{})
			x := index(t, "a")
			pushTag(t, s.open(t), x, "pending-1.2.3", "")
			s.Misbehave(registrytest.ManifestDelete, test.fault, test.times)
			err := s.open(t).Capabilities().DeleteTag(t.Context(), "pending-1.2.3", x.Descriptor.Digest)
			if errors.Is(test.want, errTrouble) {
				if answer, ok := errors.AsType[*repository.ResponseError](err); !ok || answer.Status != http.StatusInternalServerError || errors.Is(err, repository.ErrTagNotDeleted) {
					t.Errorf("got %v", err)
				}
			} else if !errors.Is(err, test.want) {
				t.Errorf("got %v", err)
			}
			if there := slices.Contains(s.Tags(t, repositoryName), "pending-1.2.3"); there != (test.want != nil) {
				t.Errorf("there: %t", there)
			}
		})
	}
}
