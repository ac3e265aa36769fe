package repository

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Errors that repositories return. Test for them with [errors.Is].
var (
	// ErrNotFound is returned if the repository doesn't contain the tag, manifest, or
	// blob.
	ErrNotFound = provider.Errorf(provider.Refused, "not found in the repository")
	// ErrNoRepository is returned if the repository doesn't exist or if the registry
	// hides it from the user.
	ErrNoRepository = provider.Errorf(provider.NotFound, "no such repository")
	// ErrOtherServer is returned if a registry's URL for an upload or for the next page of a
	// list is on another host or port. Neither content nor credentials are sent there.
	ErrOtherServer = provider.Errorf(provider.Refused, "registry refers to another server")
	// ErrUntagged is returned if an image layout has indexes but no tags.
	ErrUntagged = provider.Errorf(provider.Refused, "no index in index.json has a tag")
	// ErrNoLayout is returned if a directory isn't an image layout or doesn't exist. It
	// wraps [ErrNoRepository].
	ErrNoLayout = text.WithText(ErrNoRepository, "no image layout found")
	// ErrDamagedLayout is returned if a file in an image layout can't be decoded. The
	// error message starts with the file's path.
	ErrDamagedLayout = provider.Errorf(provider.Refused, "is damaged")
	// ErrTagMoved is returned if another run moved the tag after it was read.
	ErrTagMoved = provider.Errorf(provider.Transient, "tag was moved by another run")
	// ErrContentDeleted is returned if an image layout lacks content that a tag needs,
	// because another run deleted a version with this content. It wraps [ErrTagMoved].
	ErrContentDeleted = text.WithText(ErrTagMoved, "content is missing, or was deleted by another run")
)

// DanglingTagError reports that a tag exists but points to missing or damaged content.
// It wraps [ErrNotFound] or a *[sums.MismatchError].
type DanglingTagError struct {
	Tag string
	// Index is the descriptor of the index that the tag points to. Pass its digest to
	// [Repository].PushTag to replace the tag.
	Index ocispec.Descriptor
	Err   error
}

func (e *DanglingTagError) Error() string {
	return fmt.Sprintf("tag %s points to %s, which is missing or damaged: %v", e.Tag, e.Index.Digest, e.Err)
}

// Kind returns [provider.Refused].
func (e *DanglingTagError) Kind() provider.ErrorKind { return provider.Refused }

// Unwrap returns the problem with the content.
func (e *DanglingTagError) Unwrap() error { return e.Err }

// ResponseError is an error response from a registry.
type ResponseError struct {
	Method string
	// URL is the request's URL without the query, because the query can contain the
	// state of an upload.
	URL    string
	Status int
	// Code is the registry's error code, such as NAME_UNKNOWN, or empty if the response
	// contains no code.
	Code string
	// Codes lists the codes of all errors in the response, including empty codes. Code
	// is the first code that isn't empty. Codes is nil if the response contains no
	// errors.
	Codes []string
	// Message is the registry's error message on one line. It includes the detail field,
	// which some registries use for the reason.
	Message string
}

// Error reports a failed operation on a repository or registry.
type Error struct {
	// Op is the operation, for example "fetching manifest".
	Op string
	// Registry is "host" or "host:port". Name is the name of the repository, or empty for
	// operations on the registry.
	Registry, Name string
	// Reference is a tag, a digest, or empty.
	Reference string
	// Writing reports whether the operation pushes content or writes a tag.
	Writing bool
	// Credentials describes the credentials that the registry rejected or doesn't
	// support, and their source. It is empty for other errors and for anonymous access.
	Credentials string
	Err         error
}

func (e *Error) Error() string {
	text := e.Op + " " + strings.TrimSuffix(e.Registry+"/"+e.Name, "/")
	_, isDigest := digest.Parse(e.Reference)
	switch {
	case e.Reference == "":
	case errors.Is(isDigest, digest.ErrDigestInvalidFormat):
		text += ":" + e.Reference
	default:
		text += "@" + e.Reference
	}
	text += ": " + e.Err.Error()
	if e.Credentials != "" {
		text += "; credentials used: " + e.Credentials
	}
	return text
}

// Kind returns [provider.Refused].
func (e *Error) Kind() provider.ErrorKind { return provider.Refused }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *ResponseError) Error() string {
	text := fmt.Sprintf("%s %s: registry responded with %d %s", e.Method, e.URL, e.Status, http.StatusText(e.Status))
	if e.Code != "" {
		text += ", " + e.Code
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Kind returns [provider.Denied] or [provider.NotFound] if the response indicates that
// kind. Otherwise, Kind returns [provider.Transient].
func (e *ResponseError) Kind() provider.ErrorKind {
	switch {
	case e.Is(provider.ErrForbidden):
		return provider.Denied
	case e.Is(ErrNoRepository):
		return provider.NotFound
	}
	return provider.Transient
}

// Is reports whether the response matches a sentinel error, such as [ErrNotFound].
func (e *ResponseError) Is(target error) bool {
	switch target {
	case provider.ErrForbidden:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden && !e.isClass()
	case ErrNoRepository:
		return e.IsUnknownProvider() || e.Status == http.StatusNotFound && (e.Code == "" || e.isMissingProject())
	case ErrNotFound:
		return e.Status == http.StatusNotFound
	}
	return false
}

// IsUnknownProvider reports whether OpenTofu interprets this response to a list request
// as "this mirror doesn't have the provider" and tries its next installation method.
// OpenTofu tries the next method if one of the codes is NAME_UNKNOWN or NAME_INVALID,
// or if the response has no codes and the status is 404. For any other code,
// including an empty code, OpenTofu fails.
//
// [ErrNoRepository] also matches a missing project in Harbor and a 404 response with
// only empty codes. [ErrNoRepository] is intended for commands that let users specify
// the repository.
func (e *ResponseError) IsUnknownProvider() bool {
	if len(e.Codes) == 0 {
		return e.Status == http.StatusNotFound
	}
	return slices.Contains(e.Codes, errcode.ErrorCodeNameUnknown) || slices.Contains(e.Codes, errcode.ErrorCodeNameInvalid)
}

// IsUnknownProvider reports whether a repository's error makes OpenTofu try its next
// installation method. See [ResponseError.IsUnknownProvider].
func IsUnknownProvider(err error) bool {
	if response, ok := errors.AsType[*ResponseError](err); ok {
		return response.IsUnknownProvider()
	}
	return errors.Is(err, ErrNoRepository)
}

// isClass reports whether CNCF Distribution refused the type of a manifest's config
// because of its policy.
func (e *ResponseError) isClass() bool { return strings.Contains(e.Message, "unknown manifest class") }

// isMissingProject reports whether Harbor responded that the project, the first
// component of the name, doesn't exist.
func (e *ResponseError) isMissingProject() bool {
	return e.Code == "NOT_FOUND" && strings.HasPrefix(e.Message, "project ") && strings.Contains(e.Message, "not found")
}

// translate replaces oras errors with errors of this package. It also removes secrets
// in URLs and credentials that the registry repeated.
func (s *credentialState) translate(err error) error {
	if errors.Is(err, errdef.ErrNotFound) {
		return ErrNotFound // most callers expect this error, and it contains no text from the registry that could include secrets
	}
	sent := s.recorded()
	err = translated(err, sent)
	err = text.WithText(err, httpclient.RedactText(sent.Text(err.Error())))
	if missing := s.missing.Load(); missing != nil && errors.Is(err, provider.ErrForbidden) {
		err = fmt.Errorf("%w; %w", err, *missing)
	}
	return err
}

func translated(err error, sent text.Secrets) error {
	if response, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		e := &ResponseError{Method: response.Method, Status: response.StatusCode}
		if response.URL != nil {
			e.URL = sent.Text(httpclient.RedactURL(response.URL))
		}
		var messages []string
		for _, inner := range response.Errors {
			code := line(sent.Text(inner.Code))
			e.Codes = append(e.Codes, code)
			e.Code = cmp.Or(e.Code, code)
			messages = append(messages, explanation(inner, sent))
		}
		e.Message = strings.Join(messages, "; ")
		return e
	}
	if realm, ok := errors.AsType[*RealmError](err); ok {
		realm.Realm = sent.Text(realm.Realm)
		return realm
	}
	if failed, ok := errors.AsType[*url.Error](httpclient.RedactError(err)); ok {
		return fmt.Errorf("%s %s: %w", strings.ToUpper(failed.Op), failed.URL, failed.Err)
	}
	return err
}

// explanation returns the message of an error with its detail, if the detail is text.
// GitLab and Quay put the reason into the detail. zot puts the digest of missing
// content there.
func explanation(e errcode.Error, sent text.Secrets) string {
	detail, _ := e.Detail.(string)
	if fields, ok := e.Detail.(map[string]any); ok {
		for _, name := range []string{"message", "digest", "Digest"} {
			if detail, ok = fields[name].(string); ok {
				break
			}
		}
	}
	message := line(sent.Text(e.Message))
	if detail = line(sent.Text(detail)); detail != "" && detail != message {
		message = strings.TrimPrefix(message+": "+detail, ": ")
	}
	return message
}

// line replaces control characters in remote text and limits its length.
func line(s string) string {
	const most = 300
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.TrimSpace(s)
}

// ConflictError reports that a write would overwrite different content.
type ConflictError struct {
	// Release is the provider and the version.
	Release string
	// Reasons contains at least one sentence without its final period.
	Reasons []string
	// Mismatch is set if the tag points to a different provider or no provider.
	Mismatch *ProviderMismatchError
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s conflicts with the existing release: %s", e.Release, strings.Join(e.Reasons, "; "))
}

// Kind returns [provider.Conflict].
func (e *ConflictError) Kind() provider.ErrorKind { return provider.Conflict }

// Within returns the error's text. If Release is address a and version v, the text
// omits Release.
func (e *ConflictError) Within(a provider.Address, v provider.Version) string {
	if e.Release != a.String()+" "+v.String() {
		return e.Error()
	}
	return "conflict with the existing release: " + strings.Join(e.Reasons, "; ")
}

// Unwrap returns Mismatch, or nil if Mismatch isn't set.
func (e *ConflictError) Unwrap() error {
	if e.Mismatch == nil {
		return nil
	}
	return e.Mismatch
}
