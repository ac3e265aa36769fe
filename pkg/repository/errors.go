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

// Conditions that repositories report alike. Test for them with [errors.Is].
var (
	// ErrNotFound: the repository holds no such tag, manifest or blob.
	ErrNotFound = provider.Errorf(provider.Refused, "not found in the repository")
	// ErrNoRepository: the registry has no such repository, or does not show it
	// to this login.
	ErrNoRepository = provider.Errorf(provider.NotFound, "no such repository")
	// ErrUntagged: an image layout has indexes, but no tags.
	ErrUntagged = provider.Errorf(provider.Refused, "no index in index.json has a tag")
	// ErrNoLayout: a directory is no image layout, or does not exist. It is an
	// [ErrNoRepository].
	ErrNoLayout = text.WithText(ErrNoRepository, "there is no image layout")
	// ErrDamagedLayout: a file of an image layout, whose path precedes the text, can't be
	// read as what it is.
	ErrDamagedLayout = provider.Errorf(provider.Refused, "is damaged")
	// ErrTagMoved: another run moved the tag between reading and writing it.
	ErrTagMoved = provider.Errorf(provider.Transient, "the tag was moved by another run")
)

// DanglingTagError says that a tag is there, and that what it names is missing or
// damaged: it wraps [ErrNotFound] or a *[sums.MismatchError].
type DanglingTagError struct {
	Tag string
	// Index is what the tag names; its digest is that to move the tag from.
	Index ocispec.Descriptor
	Err   error
}

func (e *DanglingTagError) Error() string {
	return fmt.Sprintf("the tag %s names %s, which is lost: %v", e.Tag, e.Index.Digest, e.Err)
}

// Kind is [provider.Refused].
func (e *DanglingTagError) Kind() provider.ErrorKind { return provider.Refused }

// Unwrap returns what is wrong.
func (e *DanglingTagError) Unwrap() error { return e.Err }

// ResponseError is a registry's refusal.
type ResponseError struct {
	Method string
	// URL is without query, which may hold upload state.
	URL    string
	Status int
	// Code is the registry's own, such as NAME_UNKNOWN; empty when it gave none.
	Code string
	// Codes are those of all errors in the answer, empty ones among them; Code is
	// the first that is not. Nil when the answer listed no error.
	Codes []string
	// Message is the registry's explanation, one line, with the detail that some
	// say the reason in.
	Message string
}

// Error says which repository an error is about.
type Error struct {
	// Doing is what was tried, "fetching manifest".
	Op string
	// Registry is "host" or "host:port", Name the repository's there, empty for all
	// of the registry.
	Registry, Name string
	// Reference is a tag or digest, or empty.
	Reference string
	// Writing tells that something was to be stored.
	Writing bool
	// Login says whose login the registry refuses, or can't take, and where it comes
	// from. It is empty without a login, and for all other errors.
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
		text += "; the login was " + e.Credentials
	}
	return text
}

// Kind is [provider.Refused].
func (e *Error) Kind() provider.ErrorKind { return provider.Refused }

// Unwrap returns the error itself.
func (e *Error) Unwrap() error { return e.Err }

func (e *ResponseError) Error() string {
	text := fmt.Sprintf("%s %s: the registry answered %d %s", e.Method, e.URL, e.Status, http.StatusText(e.Status))
	if e.Code != "" {
		text += ", " + e.Code
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Kind is [provider.Transient], unless the registry denies access or has no such
// repository.
func (e *ResponseError) Kind() provider.ErrorKind {
	switch {
	case e.Is(provider.ErrDenied):
		return provider.Denied
	case e.Is(ErrNoRepository):
		return provider.NotFound
	}
	return provider.Transient
}

// Is puts the conditions that callers ask for into the field's sentinels.
func (e *ResponseError) Is(target error) bool {
	switch target {
	case provider.ErrDenied:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
	case ErrNoRepository:
		return e.IsUnknownProvider() || e.Status == http.StatusNotFound && (e.Code == "" || e.isMissingProject())
	case ErrNotFound:
		return e.Status == http.StatusNotFound
	}
	return false
}

// NoProvider reports whether OpenTofu takes this answer to a list of tags for "this
// mirror does not know the provider", and goes on to its next installation method:
// one of the codes is NAME_UNKNOWN or NAME_INVALID, or there are none at all and
// the status is 404. With any other code, an empty one too, it gives up.
//
// [ErrNoRepository] is wider, for commands that name a repository themselves: it is
// also Harbor's answer for a missing project, and a 404 with empty codes only.
func (e *ResponseError) IsUnknownProvider() bool {
	if len(e.Codes) == 0 {
		return e.Status == http.StatusNotFound
	}
	return slices.Contains(e.Codes, errcode.ErrorCodeNameUnknown) || slices.Contains(e.Codes, errcode.ErrorCodeNameInvalid)
}

// IsUnknownProvider reports whether a repository's error means that it does not know the
// provider, as OpenTofu decides it: its next installation method is asked then. See
// [ResponseError.IsUnknownProvider].
func IsUnknownProvider(err error) bool {
	if answer, ok := errors.AsType[*ResponseError](err); ok {
		return answer.IsUnknownProvider()
	}
	return errors.Is(err, ErrNoRepository)
}

// lacksProject knows Harbor's answer when the project, the first part of the
// name, does not exist.
func (e *ResponseError) isMissingProject() bool {
	return e.Code == "NOT_FOUND" && strings.HasPrefix(e.Message, "project ") && strings.Contains(e.Message, "not found")
}

// translate replaces the library's errors with ours, which start with the registry's code.
// Their texts contain no secret of a URL, and no credential that the registry repeats.
func (s *credentialState) translate(err error) error {
	sent := s.recorded()
	err = translated(err, sent)
	return text.WithText(err, httpclient.RedactText(sent.Text(err.Error())))
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
	if errors.Is(err, errdef.ErrNotFound) {
		return ErrNotFound
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

// explanation is an error's message with its detail, where that is a text: GitLab
// and Quay say there what they refuse.
func explanation(e errcode.Error, sent text.Secrets) string {
	detail, _ := e.Detail.(string)
	if fields, ok := e.Detail.(map[string]any); ok {
		detail, _ = fields["message"].(string)
	}
	message := line(sent.Text(e.Message))
	if detail = line(sent.Text(detail)); detail != "" && detail != message {
		message = strings.TrimPrefix(message+": "+detail, ": ")
	}
	return message
}

// line keeps a remote text printable and short.
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

// ConflictError says that a tag holds something that a write would have to
// destroy.
type ConflictError struct {
	// Release is provider and version, as people write them.
	Release string
	// Reasons are sentences without their full stops, at least one.
	Reasons []string
	// Foreign is set when the reason is that something else is there.
	Mismatch *ProviderMismatchError
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("conflict with what %s already is in the repository: %s", e.Release, strings.Join(e.Reasons, "; "))
}

// Kind is [provider.Conflict].
func (e *ConflictError) Kind() provider.ErrorKind { return provider.Conflict }

// Within returns the text for a message that has named the release.
func (e *ConflictError) Within(a provider.Address, v provider.Version) string {
	if e.Release != a.String()+" "+v.String() {
		return e.Error()
	}
	return "conflict with what already is in the repository: " + strings.Join(e.Reasons, "; ")
}

// Unwrap returns the *[ProviderMismatchError], if there is one.
func (e *ConflictError) Unwrap() error {
	if e.Mismatch == nil {
		return nil
	}
	return e.Mismatch
}
