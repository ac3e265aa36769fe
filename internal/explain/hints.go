package explain

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	providerexec "github.com/tofu-oci/tofu-oci/pkg/exec"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/serve"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/source/filesystem"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// Text returns an error as it is printed, with a hint unless that is empty: what was tried
// and what came back, the place in a text at fault, and what to do. It may contain text
// from elsewhere, such as control characters.
func Text(err error, hint string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "tofu-oci: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	if e, ok := errors.AsType[*provider.SyntaxError](err); ok && provider.KindOf(err) == provider.Misuse {
		for line := range strings.Lines(e.Pointer() + "\n") {
			text.WriteString("  " + line)
		}
	}
	if e, ok := errors.AsType[*installation.NoMirrorError](err); ok {
		place := ""
		if e.Position != (stricthcl.Position{}) {
			place = fmt.Sprintf(" (the oci_mirror belongs into the block at %s)", e.Position)
		}
		fmt.Fprintf(&text, "name the repository with --to, or write into the CLI configuration%s:\n%s", place, e.Block)
	}
	if hint != "" {
		fmt.Fprintf(&text, "hint: %s\n", hint)
	}
	return text.String()
}

// WithHint returns an error whose hint is a text, or that needs none if the text is empty.
func WithHint(err error, hint string) error { return &hinted{err, hint} }

type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

func (e *hinted) Hint() string { return e.hint }

// Hint returns what to do about an error, or "": what the error itself says with a method
// Hint, or else what the tables say.
func Hint(err error) string {
	if e, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return e.Hint()
	}
	if errors.Is(err, repository.ErrNoCatalog) || errors.Is(err, catalog.ErrTemplate) {
		return "name the providers in a file, one address a line: --providers FILE; or log in with an account that may list the registry's repositories"
	}
	if text := cmp.Or(UntagHint(err), registryHint(err), tlsHint(err), proxyHint(err), aliasHint(err)); text != "" {
		return text
	}
	for _, h := range hints {
		if h.fits(err) {
			return strings.ReplaceAll(h.text, "REGISTRY", registryOf(err))
		}
	}
	return ""
}

var hints = []struct {
	fits func(error) bool
	text string
}{
	{isA[*repository.DeniedError], "choose another version; if the reason no longer holds, name the version and use --force: tofu-oci mirror --stage --force stages it, and tofu-oci promote --force removes the denial"},
	{errorIs(approval.ErrNotPending), "tofu-oci list PROVIDER --pending shows what waits; tofu-oci mirror --stage puts releases there"},
	{errorIs(approval.ErrIncomplete), "run tofu-oci mirror --stage for it again, which sends what is missing"},
	{isA[*repository.ConflictError], "a published version should never change; compare both sides with tofu-oci list, and use --force only if the repository's content is the wrong one"},
	{isRefused(provider.TrustBad, provider.TrustRevoked), "do not use the release, and tell whoever publishes it"},
	{isRefused(provider.TrustUntrusted), "if the author has a new key, learn its fingerprint from the author, and add it to the trust file or the keyring; else do not use the release"},
	{isRefused(provider.TrustUnknown), "give the author's public key with --keyring FILE; where the release comes from tofu-oci publish, publishing it again with --keyring FILE puts that key beside its signature, for all"},
	{isRefused(provider.TrustUnpinned), "give the author's key with --keyring, or pin it in a trust file: tofu-oci trust init writes one"},
	{isRefused(provider.TrustExpired), "give a renewed copy of the key with --keyring, or write expired = \"warn\" into the trust file"},
	{isRefused(provider.TrustUnsigned), "if the release is meant to be unsigned, write unsigned = \"warn\" into a trust file's block for the provider"},
	{isA[*builddir.PackageError], "build the packages so that OpenTofu can install and start them; --skip-checks publishes them as they are"},
	{errorIs(filesystem.ErrUnpacked), "pull it with --layout unpacked"},
	{errorIs(installation.ErrNotSupported), "name another place with --from"},
	{isA[*providerexec.StartError], "name the command, with its path where it is not in PATH, behind --: tofu-oci exec -- tofu init"},
	{errorIs(store.ErrNotCached), "another process removes what this one brings; run the same command again"},
	{errorIs(serve.ErrInsecure), "use --tls-cert and --tls-key; or listen on 127.0.0.1, behind a proxy that speaks TLS; or say --insecure-http"},
	{errorIs(store.ErrNotCache), "name a directory that is not there yet, or an empty one"},
	{errorIs(pull.ErrPort), "pull it with --layout packed, for a filesystem_mirror"},
	{errorIs(pull.ErrExists), "move it away, or choose another --dir"},
	{isOtherPackage, "compare with the checksums of the origin; if the lock file only lacks other platforms' hashes, tofu-oci lock adds them, and --platform leaves those platforms out"},
	{isA[*lock.HashError], "compare with the checksums of the origin before anything else; if what is locked is the wrong one, take its block out of the lock file"},
	{errorIs(lock.ErrIncomplete), "set the variables that sources of modules depend on with TF_VAR_NAME or a .auto.tfvars file, or run tofu get with their values, and lock again"},
	{errorIs(lock.ErrLocked), "change the constraint, or choose a newer version with tofu-oci lock --upgrade"},
	{errorIs(api.ErrNoAPI), "check the URL: it is where clients reach the server, with the path before all of its own, and without /api; servers before this version have no API"},
	{errorIs(lock.ErrNotLocked), "tofu-oci lock adds what a configuration requires"},
	{errorIs(lock.ErrNoFile), "name a lock file, a directory that has one, or a pattern in quotes: 'live/**/.terraform.lock.hcl'"},
	{errorIs(lockfile.ErrSyntax), "OpenTofu refuses the file too; mend the line, or bring the file back from version control"},
	{errorIs(configuration.ErrNoConfiguration), "name the directory of a configuration with --module-dir, with --recursive one that has some below it, or PROVIDERs to lock"},
	{errorIs(packagezip.ErrArchive), "the archive is damaged, though it is the one that was published: whoever published it has to make it anew"},
	{otherSpelling, "make SHA256SUMS again in the directory of the zips, with sha256sum --text and names without ./, and sign it again"},
	{isA[*provider.IdentityError], "the name is not that of the package; do not use it, and tell whoever publishes it"},
	{noHelper, "install the program that is named; or take it out of the file that names it, and log in again: tofu-oci login REGISTRY"},
	{isA[*credentials.HelperError], "unlock the keychain, or do what the program asks for; one that makes logins by itself, such as those of clouds, needs no login, and forgets none"},
	{errorIs(credentials.ErrPath), "log in to the whole registry, or write an oci_credentials block for the part into the CLI configuration"},
	{loginIs(http.StatusUnauthorized), "the registry does not take this login: log in again, or correct it where it is kept; some registries also answer so for a repository that does not exist"},
	{loginIs(http.StatusForbidden), "this login may not do that: give it the right to the repository, or use another one; some registries also answer so for a repository that does not exist"},
	{refusesLogin, "log in with a user name and a password: tofu-oci login REGISTRY"},
	{isDeniedBy[*repository.Error], "log in to the registry: tofu-oci login REGISTRY (a login of docker, podman or oras counts too); some registries also answer so for a repository that does not exist"},
	{errorIs(origin.ErrToken), "the registry does not take this token, or the token may not read the provider: renew it, or correct it where it is kept"},
	{isKind(provider.Denied), "give a token for the host, in TF_TOKEN_… or a credentials block of the CLI configuration"},
	{errorIs(builddir.ErrSums), "the zips are not those that SHA256SUMS was made for: make it again from them, and sign it again; or take it and its signature away, and publish makes it"},
	{errorIs(repository.ErrCorruptRetained), "delete the file of this digest in the registry's storage, which takes more than a DELETE in some registries, and run this again"},
	{isKind(provider.Unverified), "the bytes are not what was promised; try again, and if it stays so, do not use them and tell whoever publishes them"},
	{isA[*cliconfig.MergeError], "put what is printed in its place by hand; tofu-oci tofurc --validate FILE says whether it is right"},
	{isA[*mirror.TooYoungError], "waiting does not help where an origin states no dates: name versions exactly, such as hashicorp/null@3.2.4, take what is locked with --lock-file, or leave out --min-age"},
	{isA[*provider.PlatformError], "choose platforms with --platform OS_ARCH"},
	{errorIs(repository.ErrUntagged), "the program that wrote the layout kept no tags, as crane pull --format=oci does; write it with tofu-oci copy, or with skopeo copy, oras copy or regctl image copy and a tag"},
	{moreVersions, "tofu-oci list shows all versions that there are"},
	{errorIs(repository.ErrNoLayout), "check the path, which begins where the command runs, and what the template makes of the provider; mirror and publish make a layout where there is none"},
	{noRepositoryToWrite, "check the repository template; some registries want a repository or a project to be created first, see --on-missing-repository"},
	{errorIs(repository.ErrNoRepository), "check the repository template, and that the provider was brought there; some registries also answer so when a login is missing"},
	{errorIs(provider.ErrProviderNotFound), "check the address; its default host is " + string(provider.DefaultHost)},
	{errorIs(syscall.ENOSPC), "free some space, or choose another directory (TMPDIR is where zips are kept on the way)"},
	{errorIs(syscall.ENOTDIR), "a file is where a directory has to be; move it away, or choose another directory"},
	{errorIs(syscall.EROFS), "nothing can be written there: choose another directory, or mount the disk for writing"},
	{errorIs(syscall.EISDIR), "a directory is named where a file has to be"},
	{errorIs(repository.ErrDamagedLayout), "bring the layout back from where it was made or copied, or mirror into another directory"},
	{notReadable, "check the permissions of the file and of the directories above it"},
	{errorIs(fs.ErrPermission), "check the permissions of the directory, or choose another one"},
	{isLoginVariable, "mend what the variable holds, or unset it"},
	{isA[*credentials.FileError], "mend the file, or move it away; other programs look for logins there too"},
	{errorIs(exec.ErrNotFound), "install the program, or name it with its path"},
	{errorIs(origin.ErrPage), "a proxy, a portal or a login page stands between you and the provider registry: open the URL in a browser, and check the host and HTTPS_PROXY"},
	{errorIs(repository.ErrPage), "a proxy, a portal or a login page stands between you and the registry: open the URL in a browser, log in there or take the proxy out of HTTPS_PROXY, and check the registry's host name"},
	{isA[*artifact.FormatError], "the tag was not written by a provider publisher; docs/format.md describes what is expected"},
	{isA[*repository.ProviderMismatchError], "the repository holds another provider; check the repository template"},
	{plainHTTP, "the registry does not speak TLS; if that is meant to be so, name it with --plain-http"},
	{errorIs(origin.ErrNoRegistry), "check the host in the address, or say in a host block of --config where its registry is"},
	{errorIs(repository.ErrNoReferrersList), "publish has put the release there, and takes documents about one package each (…_OS_ARCH.spdx.json) as its layers; copy leaves such documents out with --no-referrers, and promote needs none without --reason and --by"},
	{isCutOff, "the server, or a proxy on the way, ends connections; try again later"},
	{isBusy, "the server is overloaded, throttles, or is out of order; try again later"},
	{unreachable, "the server may be down or out of reach; check the host name, the proxy variables and the network"},
}

// notReadable knows what may not be opened, in contrast to what may not be written.
func notReadable(err error) bool {
	path, ok := errors.AsType[*fs.PathError](err)
	return ok && path.Op == "open" && errors.Is(path, fs.ErrPermission)
}

// isOtherPackage knows packages that are not what is locked, in contrast to whole
// releases.
func isOtherPackage(err error) bool {
	wrong, ok := errors.AsType[*lock.HashError](err)
	return ok && wrong.Platform != (provider.Platform{})
}

// isRefused knows releases that are refused for what their signature proves.
func isRefused(what ...provider.Trust) func(error) bool {
	return func(err error) bool {
		refused, ok := errors.AsType[*trust.RefusedError](err)
		return ok && slices.Contains(what, refused.Verdict.Trust)
	}
}

// isBusy knows the statuses that were tried again in vain, of both kinds of
// registry.
func isBusy(err error) bool {
	status := 0
	if e, ok := errors.AsType[*provider.StatusError](err); ok {
		status = e.Status
	} else if e, ok := errors.AsType[*repository.ResponseError](err); ok {
		status = e.Status
	}
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// isCutOff knows a connection that ended before an answer, again and again.
func isCutOff(err error) bool { return isA[*provider.TransientError](err) && errors.Is(err, io.EOF) }

func unreachable(err error) bool {
	return isA[*provider.TransientError](err) || isA[*net.DNSError](err)
}

// otherSpelling knows a SHA256SUMS that marks its files as binary, or has paths.
func otherSpelling(err error) bool {
	missing, ok := errors.AsType[*sums.FileError](err)
	return ok && missing.Listed != ""
}

// aliasHint is the hint about a repository whose provider could stand for the one that is
// wanted.
func aliasHint(err error) string {
	foreign, ok := errors.AsType[*repository.ProviderMismatchError](err)
	if !ok {
		return ""
	}
	alias, ok := foreign.Alias()
	if !ok {
		return ""
	}
	return fmt.Sprintf("give each provider a repository of its own; if the one is meant to stand for the other, declare it: --alias %s", alias)
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func errorIs(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func isKind(k provider.ErrorKind) func(error) bool {
	return func(err error) bool { return provider.KindOf(err) == k }
}
