package provider_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	notFound := provider.Errorf(provider.NotFound, "version not found")
	for name, row := range map[string]struct {
		err  error
		want provider.ErrorKind
	}{
		"itself":                 {notFound, provider.NotFound},
		"wrapped":                {fmt.Errorf("reading: %w", notFound), provider.NotFound},
		"one of multiple errors": {errors.Join(errors.New("x"), notFound), provider.NotFound},
		"the more severe of two": {provider.Errorf(provider.Refused, "refused: %w", provider.Errorf(provider.Unverified, "wrong bytes")), provider.Unverified},
		"interrupted":            {fmt.Errorf("reading: %w", context.Canceled), provider.Interrupted},
		"two verbs of Errorf":    {provider.Errorf(provider.Refused, "%w: %w", errors.New("x"), notFound), provider.NotFound},
		"without a kind":         {errors.New("x"), provider.Unknown},
		"none":                   {nil, provider.Unknown},
	} {
		if got := provider.KindOf(row.err); got != row.want {
			t.Errorf("%s: KindOf = %q, want %q", name, got, row.want)
		}
	}
	if err := fmt.Errorf("reading: %w", notFound); !errors.Is(err, notFound) {
		t.Error("errors.Is does not find an error of Errorf")
	}
}
