package faults_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// prepare fills the registry for flows that read from the registry.
func (w *world) prepare(t *testing.T, f flow) {
	t.Helper()
	if !f.filled {
		return
	}
	if err := flows[0].run(t.Context(), t, w); err != nil {
		t.Fatal(err)
	}
	checkRegistry(t, w, true)
}

// run runs a flow once and checks its result and error.
func (w *world) run(t *testing.T, f flow) error {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	w.stop.Store(&stop)
	err := f.run(ctx, t, w)
	w.behave()
	w.checkTemporary(t)
	f.check(t, w, err == nil)
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
	case !saysWhy(err):
		t.Errorf("this says little: %v", err)
	}
	for _, wrong := range []string{password, "token-", "runtime error", "%!"} {
		if err != nil && strings.Contains(err.Error(), wrong) {
			t.Errorf("an error has %q in it: %v", wrong, err)
		}
	}
	if n := w.strayed.Load(); n > 0 {
		t.Errorf("%d requests bore a login to another host", n)
	}
	return err
}

// complete runs the flow again without faults and checks that the result is complete.
func (w *world) complete(t *testing.T, f flow) {
	t.Helper()
	if err := w.run(t, f); err != nil {
		t.Errorf("the next run fails: %v", err)
	}
	f.check(t, w, true)
}

// saysWhy reports whether callers can determine the reason from the error's type.
func saysWhy(err error) bool {
	return is[*provider.TransientError](err) || is[*provider.StatusError](err) || is[*repository.ResponseError](err) ||
		is[*repository.Error](err) || is[*sums.MismatchError](err) || is[*sums.SizeError](err) || errors.Is(err, httpclient.ErrDowngrade) ||
		provider.KindOf(err) == provider.Transient || errors.Is(err, provider.ErrForbidden)
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
