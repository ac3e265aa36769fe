package repository_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestWritableRegistry checks that Writable starts an upload and cancels it if the
// upload is on the registry's host. It also checks that Writable returns the registry's
// error.
func TestWritableRegistry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault   origintest.Fault
		want    func(error) bool
		deleted int
	}{
		"allowed":                          {registryAt("/v2/" + repositoryName + "/blobs/uploads/1"), func(err error) bool { return err == nil }, 1},
		"allowed, the upload is elsewhere": {registryAt("https://storage.example.com/1"), func(err error) bool { return err == nil }, 0},
		"allowed, no place is named":       {registryAt(""), func(err error) bool { return err == nil }, 0},
		"denied":                           {origintest.Status(http.StatusForbidden), func(err error) bool { return errors.Is(err, provider.ErrDenied) }, 0},
		"no repository":                    {registrytest.Refuse(http.StatusNotFound, "NAME_UNKNOWN", "none"), func(err error) bool { return errors.Is(err, repository.ErrNoRepository) }, 0},
		"out of order":                     {origintest.Status(http.StatusBadRequest), func(err error) bool { return err != nil && strings.Contains(err.Error(), "starting an upload to") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, registrytest.Options{})
			deleted := 0
			s.Misbehave(registrytest.UploadPost, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
				if r.Method == http.MethodDelete {
					deleted++
					w.WriteHeader(http.StatusNoContent)
					return
				}
				test.fault(w, r, honest)
			}, -1)
			if err := s.open(t).Traits().Writable(t.Context()); !test.want(err) {
				t.Errorf("got %v", err)
			}
			if deleted != test.deleted {
				t.Errorf("%d uploads were canceled, want %d", deleted, test.deleted)
			}
			if n := s.Requests(); n[registrytest.UploadPut] != 0 || n[registrytest.ManifestPut] != 0 {
				t.Errorf("something was pushed: %v", n)
			}
		})
	}
}

// registryAt accepts an upload and returns its location.
func registryAt(location string) origintest.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		if location != "" {
			w.Header().Set("Location", location)
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

func TestWritableLayout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := repository.NewLayout(filepath.Join(dir, "not", "there")).Traits().Writable(t.Context()); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("something is left behind: %v, %v", entries, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := repository.NewLayout(filepath.Join(file, "layout")).Traits().Writable(t.Context()); err == nil {
		t.Error("a layout within a file is writable")
	}
}
