package main

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/launch"
	"github.com/tofu-oci/tofu-oci/internal/logins"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/exec"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/source/filesystem"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// class is a kind of failure that a user or a script tells from others. Exit
// codes and general hints go by it.
type class string

const (
	unverified  class = "unverified"  // bytes are not what was promised, not safe, or of no use
	conflict    class = "conflict"    // something else is in the way
	misuse      class = "misuse"      // command line or configuration
	denied      class = "denied"      // a login is missing or may not
	missing     class = "missing"     // provider, version, platform, repository
	interrupted class = "interrupted" // by the user
	transient   class = "transient"   // may pass
	malformed   class = "malformed"   // of a form that is not understood
	refused     class = "refused"     // not done on purpose
	unknown     class = "unknown"     // everything else
)

// classes has every error that the packages export, and internal/logins. The first that fits counts:
// wrong bytes have to be seen, whatever else an error is.
var classes = []struct {
	class class
	fits  []func(error) bool
}{
	{unverified, []func(error) bool{
		isA[*sums.MismatchError], isA[*sums.MissingError], isA[*sums.SyntaxError], isA[*sums.SizeError], isA[*sums.ZipError],
		isA[*provider.IdentityError], isA[*builddir.PackageError], isA[*builddir.SumsError], isA[*provider.ArchiveError],
		isA[*trust.RefusedError], isA[*launch.Error], isA[*lock.HashError], isA[*repository.KeptDamagedError],
	}},
	{conflict, []func(error) bool{isA[*cliconfig.MergeError], isA[*repository.ConflictError], isA[*repository.ForeignError], isA[*pull.ExistsError], isA[*lock.UpgradeError], isA[*repository.DeniedError]}},
	{misuse, []func(error) bool{
		isA[*usage], isA[*template.ReferenceError], isA[*catalog.TemplateError], isA[*installation.NotSupportedError], isA[*installation.NoMirrorError],
		isA[*filesystem.UnpackedError], isA[*store.NotCacheError], isA[*exec.StartError], isA[*pull.PortError], isA[*lockfile.Error], errorIs(configuration.ErrNoConfiguration),
		errorIs(publish.ErrBytes), isA[*logins.PartError], errorIs(logins.ErrNoFiles),
	}},
	{denied, []func(error) bool{errorIs(provider.ErrDenied), noHelper, proxyIs(http.StatusProxyAuthRequired)}},
	{missing, []func(error) bool{
		errorIs(provider.ErrProviderNotFound), errorIs(provider.ErrVersionNotFound), errorIs(repository.ErrNoRepository),
		errorIs(origin.ErrNoRegistry), isA[*provider.PlatformError], isA[*store.AbsentError], errorIs(lock.ErrNotLocked), errorIs(lock.ErrNoFile), errorIs(approval.ErrNotPending),
	}},
	{interrupted, []func(error) bool{errorIs(context.Canceled)}},
	{malformed, []func(error) bool{isA[*artifact.FormatError], isA[*provider.SyntaxError], isA[*trust.KeyError], isLoginFile}},
	{transient, []func(error) bool{
		isA[*provider.TransientError], isA[*provider.ProxyError], isA[*provider.StatusError], isA[*repository.ResponseError], isA[*repository.PageError], isA[*origin.PageError], isA[*repository.SourceMovedError],
		errorIs(repository.ErrTagMoved), errorIs(repository.ErrTagLost), isA[*lockfile.BusyError],
		isA[*pullthrough.FailedError], errorIs(pullthrough.ErrBusy),
	}},
	{refused, []func(error) bool{
		isA[*provider.DowngradeError], isA[*provider.TooLargeError], isA[*provider.UnreadableError], isA[*repository.TraitsError],
		isA[*repository.LostError], isA[*repository.DamagedLayoutError], errorIs(repository.ErrSubject), errorIs(provider.ErrWrongSource), errorIs(repository.ErrNotFound), errorIs(repository.ErrUntagged),
		isA[*mirror.TooYoungError], isA[*pullthrough.RefusedError], errorIs(pullthrough.ErrStored), isA[*repository.RealmError], isA[*repository.Error], isA[*repository.CatalogError], isA[*installation.UnresolvedError], errorIs(approval.ErrIncomplete), errorIs(repository.ErrTagStays), errorIs(lock.ErrIncomplete), isA[*logins.HelperError],
	}},
}

// classOf says what kind of failure an error is.
func classOf(err error) class {
	for _, c := range classes {
		if provider.KindOf(err) == provider.ErrorKind(c.class) || slices.ContainsFunc(c.fits, func(fits func(error) bool) bool { return fits(err) }) {
			return c.class
		}
	}
	return unknown
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func errorIs(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func isClass(c class) func(error) bool {
	return func(err error) bool { return classOf(err) == c }
}
