package explain

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// These predicates match errors from repositories.
var (
	isDenied  = errorIs(provider.ErrForbidden)
	isMissing = errorIs(repository.ErrNoRepository)
	isWriting = has(func(e *repository.Error) bool { return e.Writing })

	isFetchingManifest = has(func(e *repository.Error) bool { return e.Op == "fetching manifest" })

	// hasOtherLevels matches repositories whose names do not have exactly two levels.
	hasOtherLevels = has(func(e *repository.Error) bool { return strings.Count(e.Name, "/") != 1 })
	// hasCredentials matches registries that rejected the credentials or can't use them.
	hasCredentials = has(func(e *repository.Error) bool { return e.Credentials != "" })
	// isPlain matches responses over HTTP without TLS.
	isPlain = has(func(e *repository.ResponseError) bool { return strings.HasPrefix(e.URL, "http://") })
	// isImmutable matches registries that reject changes of tags. isOtherTag matches tags
	// that are not for versions, such as latest.
	isImmutable = responseContains("immutable", "tagalreadyexists", "tag already exists", "tag is locked", "registry_disallowed_operation")
	isOtherTag  = has(func(e *repository.Error) bool {
		_, isVersion := artifact.ParseTag(e.Reference)
		return e.Op == "tagging" && !isVersion
	})
	lacksScope = responseContains("insufficient_scope", "insufficient scope")
	// isUnsupported matches registries that accept only certain media types.
	isUnsupported = allOf(repository.RefusesTypes, anyOf(hasStatus(http.StatusUnsupportedMediaType), hasStatus(http.StatusMethodNotAllowed),
		responseContains("media type", "mediatype", "does not match schema", "manifest class", "artifacttype")))
	// isAlias matches a repository whose provider could be an alias of the requested one.
	isAlias = has(func(e *repository.ProviderMismatchError) bool {
		_, ok := e.Alias()
		return ok
	})
)

// fromProduct returns a predicate that matches errors that come from a registry of the
// given product and meet all conditions.
func fromProduct(p product, conditions ...func(error) bool) func(error) bool {
	return allOf(append(conditions, has(func(e *repository.Error) bool { return p == anywhere || productAt(e.Registry) == p }))...)
}

// hasStatus returns a predicate that matches responses with the given status.
func hasStatus(status int) func(error) bool {
	return has(func(e *repository.ResponseError) bool { return e.Status == status })
}

// responseContains returns a predicate that matches responses whose error code or message
// contains one of the given lower-case strings.
func responseContains(texts ...string) func(error) bool {
	return has(func(e *repository.ResponseError) bool {
		said := strings.ToLower(e.Code + " " + e.Message)
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(said, text) })
	})
}

// isRefused returns a predicate that matches errors about releases that were rejected
// because of their signature.
func isRefused(trusts ...provider.Trust) func(error) bool {
	return has(func(e *trust.RefusedError) bool { return slices.Contains(trusts, e.Verdict.Trust) })
}

// lacks reports whether an artifact of the given kind lacks a part. See
// [artifact.FormatError].
func lacks(kind string, part artifact.Part) func(error) bool {
	return has(func(e *artifact.FormatError) bool { return e.Artifact == kind && e.Missing == part })
}

// isBusy reports whether retries failed because an OCI or origin registry kept
// returning temporary statuses.
func isBusy(err error) bool {
	status := 0
	if e, ok := errors.AsType[*provider.StatusError](err); ok {
		status = e.Status
	} else if e, ok := errors.AsType[*repository.ResponseError](err); ok {
		status = e.Status
	}
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// isCutOff reports whether the server repeatedly closed the connection before it
// responded.
func isCutOff(err error) bool { return isA[*provider.TransientError](err) && errors.Is(err, io.EOF) }

func unreachable(err error) bool {
	return isA[*provider.TransientError](err) || isA[*net.DNSError](err)
}

// noHelper reports whether a configured credential helper is not installed.
func noHelper(err error) bool {
	return errors.Is(err, exec.ErrNotFound) && provider.KindOf(err) == provider.Denied
}

// moreVersions reports whether a version is missing and the message does not list all
// existing versions.
func moreVersions(err error) bool {
	missing, ok := errors.AsType[*provider.VersionError](err)
	return ok && !missing.ListsAll() || !ok && errors.Is(err, provider.ErrVersionNotFound)
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// has returns a predicate that matches errors of type E that meet a condition.
func has[E error](condition func(E) bool) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[E](err)
		return ok && condition(e)
	}
}

func errorIs(targets ...error) func(error) bool {
	return func(err error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
}

func isKind(k provider.ErrorKind) func(error) bool {
	return func(err error) bool { return provider.KindOf(err) == k }
}

func anyOf(conditions ...func(error) bool) func(error) bool {
	return func(err error) bool {
		return slices.ContainsFunc(conditions, func(is func(error) bool) bool { return is(err) })
	}
}

func allOf(conditions ...func(error) bool) func(error) bool {
	return func(err error) bool {
		return !slices.ContainsFunc(conditions, func(is func(error) bool) bool { return !is(err) })
	}
}

// isRemoved reports whether an origin registry doesn't have the files of a release that it
// lists.
func isRemoved(err error) bool {
	release, isRelease := errors.AsType[*provider.Error](err)
	response, isResponse := errors.AsType[*provider.StatusError](err)
	return isRelease && release.Version != provider.Version{} && isResponse && (response.Status == http.StatusNotFound || response.Status == http.StatusGone)
}
