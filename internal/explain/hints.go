package explain

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os/exec"
	"strings"
	"syscall"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/credentials"
	providerexec "github.com/tofu-oci/tofu-oci/internal/exec"
	"github.com/tofu-oci/tofu-oci/internal/git"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/filesystem"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/networkmirror"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// Text formats an error for printing. The text consists of the message, followed by a
// pointer to the syntax error and by the hint, if they exist. It can contain untrusted
// control characters.
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
			place = fmt.Sprintf(" (add the oci_mirror to the block at %s)", e.Position)
		}
		fmt.Fprintf(&text, "specify the repository with --from or --to, or add this to the CLI configuration%s:\n%s", place, e.Block)
	}
	if hint != "" {
		fmt.Fprintf(&text, "hint: %s\n", hint)
	}
	return text.String()
}

// WithHint returns an error with the given hint. An empty hint suppresses the default
// hint.
func WithHint(err error, hint string) error { return &hinted{err, hint} }

type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

func (e *hinted) Hint() string { return e.hint }

// Hint returns a hint for resolving an error, or "". If the error has a method Hint,
// the method takes precedence over the table.
func Hint(err error) string {
	if e, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return e.Hint()
	}
	if text := UntagHint(err); text != "" {
		return text
	}
	for _, h := range hints {
		if h.matches(err) {
			return fill(h.text, err)
		}
	}
	return ""
}

// Hints returns the texts of all hints in the table, with placeholders.
func Hints() []string {
	texts := make([]string, len(hints))
	for i, h := range hints {
		texts[i] = h.text
	}
	return texts
}

// revokeHint is the hint for denied versions.
const revokeHint = "to revoke the denial, mirror the version again with tofu-oci mirror PROVIDER@VERSION --force (modules: module mirror or module push)"

// hints maps errors to hints. The first match is used. For the placeholders, see
// [fill]. For each hint about a registry's response, cmd/tofu-oci/testdata/responses
// contains an example response.
var hints = []struct {
	matches func(error) bool
	text    string
}{
	{errorIs(repository.ErrNoCatalog, catalog.ErrTemplate), "list the providers in a file, one address per line, and specify it with --sources FILE; alternatively, log in with an account that can list the registry's repositories"},
	{fromProduct(anywhere, errorIs(httpclient.ErrDowngrade)), "configure the proxy in front of the registry to set X-Forwarded-Proto: https, or set the registry's HTTPS address (CNCF Distribution: http.host or http.relativeurls: true, Harbor: external_url)"},
	{fromProduct(anywhere, errorIs(repository.ErrOtherServer)), "configure the proxy in front of the registry to keep the Host header and to set X-Forwarded-Proto, or set the registry's public address (CNCF Distribution: http.host or http.relativeurls: true, Harbor: external_url)"},
	{fromProduct(anywhere, isPlain, hasStatus(http.StatusBadRequest)), "omit --plain-http, because REGISTRY seems to use TLS"},
	{fromProduct(anywhere, has(func(e *repository.RealmError) bool { return e.Private })), "use --token-realm REALM only if REALM is the token service of your registry, such as a self-hosted GitLab or Harbor; otherwise, the response might be an attempt to obtain your credentials"},
	{fromProduct(anywhere, isA[*repository.RealmError]), "set up TLS for the registry and omit --plain-http; if REALM is its token service and you trust the network, use --token-realm REALM"},
	{fromProduct(anywhere, isImmutable, isOtherTag), "exempt the tag TAG of REPOSITORY from immutability, or allow mutable tags for the repository, because tofu-oci changes this tag"},
	{fromProduct(anywhere, isImmutable), "publish all platforms of a version in one run, or allow mutable tags for this repository"},
	{fromProduct(ecr, isWriting, anyOf(isCutOff, isMissing)), "create the repository with aws ecr create-repository --repository-name REPOSITORY or with --on-missing-repository; if it exists, check the account and region in the host name, and the permission ecr:InitiateLayerUpload"},
	{fromProduct(ecr, responseContains("not authorized to perform")), "grant the missing permission to the IAM role or user; docs/ecr.md lists the required permissions"},
	{fromProduct(ecr, isDenied), "log in again, because ECR tokens expire after 12 hours: aws ecr get-login-password | tofu-oci login --username AWS --password-stdin REGISTRY"},
	{fromProduct(gitlab, isUnsupported), "update your self-managed GitLab, because older versions reject OpenTofu's media types"},
	{fromProduct(quay, isUnsupported), "set IGNORE_UNKNOWN_MEDIATYPES: true in a self-hosted Quay, or use a different registry"},
	{fromProduct(anywhere, isUnsupported), "allow the refused media type in the registry, or use a different registry; docs/format.md lists the media types of providers and modules"},
	{fromProduct(ghcr, isDenied, responseContains("write_package", "not allowed to", "write organization package")), "use a token with the scope write:packages (in GitHub Actions: permissions: packages: write); if the package exists, grant the repository the role Write in the package settings, under Manage Actions access"},
	{fromProduct(ghcr, isDenied), "check the name; if the package is private, log in (tofu-oci login ghcr.io) with a token that has the scope read:packages, or make the package public"},
	{fromProduct(dockerHub, hasOtherLevels, anyOf(isDenied, isMissing, hasStatus(http.StatusBadRequest))), "use a template with exactly two levels, such as registry-1.docker.io/acme/{namespace}-{type}, because Docker Hub does not support REPOSITORY"},
	{fromProduct(dockerHub, anyOf(isDenied, lacksScope)), "log in with a Read & Write access token of a user who can write to the account or organization PROJECT: tofu-oci login docker.io"},
	{fromProduct(dockerHub, hasStatus(http.StatusTooManyRequests)), "log in (tofu-oci login docker.io), or try again later; Docker Hub limits anonymous pulls"},
	{fromProduct(anywhere, isMissing, responseContains("not_found project")), "create the project PROJECT in Harbor first; a push creates only repositories"},
	{fromProduct(anywhere, isDenied, responseContains("unauthorized to access repository")), "create the project PROJECT, or grant the missing permission to the user or robot account; Harbor returns the same error in both cases"},
	{fromProduct(anywhere, isFetchingManifest, hasStatus(http.StatusInternalServerError)), "try again; if the error persists, but other manifests are readable, the manifest is damaged: delete its file from the registry's storage and mirror the version again (docs/operations.md, Find and repair lost content)"},
	{fromProduct(anywhere, isFetchingManifest, isA[*sums.MismatchError]), "don't use the release, because its manifest is damaged or was modified; delete the manifest's file from the registry's storage, and mirror the version again (docs/operations.md, Find and repair lost content)"},
	{fromProduct(anywhere, lacksScope), "grant the account read access to the repository or, for pushes, write access; the credentials themselves are valid"},
	{fromProduct(anywhere, has(func(e *httpclient.ClientCertificateError) bool { return e.IsRegistry && !e.Sent })), "specify the client certificate and its private key with --client-cert FILE and --client-key FILE, or store them as ~/.docker/certs.d/REGISTRY/client.cert and client.key"},
	{fromProduct(anywhere, has(func(e *httpclient.ClientCertificateError) bool { return e.Sent })), "check that the client certificate is valid and meant for REGISTRY, and that its file also contains the intermediate certificates"},
	{isA[*httpclient.ClientCertificateError], "use a server that requires no client certificate, because client certificates are sent only to OCI registries, not to token services on other hosts, origin registries, or download servers"},
	{isA[x509.UnknownAuthorityError], "use --ca-file to trust the certificate authority ISSUER that issued the server's certificate"},
	{has(func(e x509.CertificateInvalidError) bool { return e.Reason == x509.Expired }), "check this machine's clock, or renew the server's certificate, because a certificate in its chain is expired or not yet valid"},
	{isA[x509.HostnameError], "check the host name, and check whether a proxy responds instead of the server, because the certificate is for a different host name"},
	{isA[*tls.CertificateVerificationError], "if the server's certificate was issued by a private certificate authority, specify it with --ca-file"},
	{has(func(e *httpclient.ProxyError) bool { return e.Status == http.StatusProxyAuthRequired && e.HasLogin }), "correct the credentials in the URL of HTTPS_PROXY or HTTP_PROXY; write %40 for @, %3A for :, and %2F for /"},
	{has(func(e *httpclient.ProxyError) bool { return e.Status == http.StatusProxyAuthRequired }), "add credentials to the proxy URL: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT, and the same for HTTP_PROXY"},
	{has(func(e *httpclient.ProxyError) bool { return e.Status == 0 }), "check HTTPS_PROXY and HTTP_PROXY, or add the host to NO_PROXY"},
	{has(func(e *httpclient.ProxyError) bool { return e.Status >= http.StatusInternalServerError }), "check the host name, or add it to NO_PROXY to bypass the proxy"},
	{isA[*httpclient.ProxyError], "allow the host in the proxy configuration, or add it to NO_PROXY to bypass the proxy"},
	{isAlias, "use a separate repository for each provider; to use one provider in place of the other, add --alias ALIAS"},
	{has(func(e *repository.DeniedError) bool { return e.Record.Gate != "" && e.Record.Digest == "" }), "use a version without this problem, or change the gate's policy and run the command again"},
	{isA[*repository.DeniedError], "choose another version, or change the version constraint that selects the denied version; " + revokeHint},
	{errorIs(approval.ErrNotPending), "stage a version with tofu-oci mirror PROVIDER@VERSION --stage, or list pending versions with tofu-oci list PROVIDER --pending; for modules, use tofu-oci module list and module mirror"},
	{errorIs(approval.ErrNothingToPromote), revokeHint},
	{errorIs(approval.ErrIncomplete), "to send the missing content, run tofu-oci mirror PROVIDER@VERSION (modules: module push or module mirror); for a pending release, add --stage"},
	{isA[*sync.StaleError], "create a new plan with tofu-oci sync plan --plan-file PLAN, and have it approved"},
	{isA[*repository.ConflictError], "compare both sides with tofu-oci list PROVIDER@VERSION; a published version should never change, so use --force only if the content in the repository is wrong"},
	{has(func(e *trust.RefusedError) bool { return e.NoRepository }), "specify the OCI repository that contains the release and its approval with --from"},
	{has(func(e *trust.RefusedError) bool { return e.Unapproved }), "review the release, and approve it with tofu-oci promote PROVIDER@VERSION --sign-key FILE"},
	{has(func(e *trust.RefusedError) bool { return e.Verdict.KeyChange != "" }), "don't use the release until the author confirms the change; then add the key's fingerprint to the trust file, or set key_change = \"hold\" and promote the release"},
	{isRefused(provider.TrustBad, provider.TrustRevoked), "don't use this release; report the problem to the provider's author"},
	{isRefused(provider.TrustUntrusted), "don't use the release until the author confirms the new key; then add the key to the keyring, or its fingerprint to the trust file"},
	{isRefused(provider.TrustUnknown), "specify the author's public key with --keyring FILE; if you published the release, publish it again with --keyring FILE, which adds the key to the release"},
	{isRefused(provider.TrustUnpinned), "specify the author's key with --keyring, or pin it in a trust file, which tofu-oci trust init creates"},
	{isRefused(provider.TrustExpired), "specify a renewed copy of the key with --keyring, or set expired = \"warn\" in the trust file"},
	{isRefused(provider.TrustUnsigned), "if the release is your own, sign it with publish --sign-key FILE; otherwise, don't use it until its author confirms that it is unsigned; then set unsigned = \"warn\" for the provider in a trust file"},
	{has(func(e *sums.FileError) bool { return e.Listed != "" }), "regenerate SHA256SUMS with sha256sum --text in the directory that contains the zips, without ./ in file names, and sign it again"},
	{errorIs(builddir.ErrSums), "check that the zips are undamaged; then regenerate SHA256SUMS and sign it, or delete SHA256SUMS and its signature so that publish creates both"},
	{isA[*builddir.PackageError], "fix the packages so that OpenTofu can install and start them, or publish them unchanged with --skip-checks"},
	{errorIs(filesystem.ErrUnpacked), "use --layout unpacked"},
	{has(func(e *networkmirror.HashError) bool { return e.Other != provider.Version{} }), "export each version to an empty directory, or omit --from to use the origin registry, because tofu providers mirror 1.12 writes the last version's hashes to the metadata of all versions"},
	{errorIs(installation.ErrNotSupported), "specify a repository with --from"},
	{isA[*providerexec.StartError], "specify the command after --, with its path if it is not in PATH, as in tofu-oci exec -- tofu init"},
	{errorIs(providerexec.ErrPluginDir), "omit -plugin-dir, or use --allow-direct"},
	{errorIs(store.ErrNotCached), "run the same command again; another process removed packages from the cache"},
	{errorIs(serve.ErrInsecure), "use --tls-cert and --tls-key, listen on 127.0.0.1 behind a proxy that terminates TLS, or allow HTTP with --listen http://HOST:PORT"},
	{errorIs(store.ErrNotCache), "specify an empty directory, or one that does not exist yet"},
	{errorIs(pull.ErrPort), "use --layout packed, and configure the directory as a filesystem_mirror"},
	{errorIs(pull.ErrExists), "move the file, or specify a different --dir"},
	{has(func(e *lock.HashError) bool { return e.Platform != (provider.Platform{}) }), "compare the hashes with the checksums of the origin registry; if the lock file lacks only the hashes for other platforms, add them with tofu-oci lock or exclude the platforms with --platform"},
	{isA[*lock.HashError], "compare the hashes with the checksums of the origin registry first; if the locked hashes are wrong, remove the provider's block from the lock file"},
	{errorIs(lock.ErrIncomplete), "set the variables in module sources with TF_VAR_NAME or a .auto.tfvars file, or run tofu get with their values; then lock again"},
	{errorIs(lock.ErrLocked), "change the constraint, or select a newer version with tofu-oci lock --upgrade"},
	{errorIs(lock.ErrNotLocked), "add the required providers with tofu-oci lock"},
	{errorIs(lock.ErrNoFile), "write a lock file with tofu-oci lock, or specify a lock file, a directory that contains one, or a quoted pattern such as 'live/**/.terraform.lock.hcl'"},
	{errorIs(lockfile.ErrSyntax), "fix the line, or restore the file from version control; OpenTofu rejects the file, too"},
	{errorIs(configuration.ErrNoConfiguration), "specify the directory of a configuration with --root DIR, all configurations below it with --root DIR/..., or PROVIDERs to lock"},
	{errorIs(packagezip.ErrArchive), "report the problem to the provider's author; the published archive itself is damaged"},
	{isRemoved, "if the author has removed the files, exclude the version with a constraint such as != 1.2.3, or with a deny block in a declaration"},
	{isA[*provider.IdentityError], "don't use the package, because its name is wrong; report the problem to the provider's author"},
	{noHelper, "install the credential helper, or remove it from the file that specifies it and run tofu-oci login REGISTRY"},
	{isA[*credentials.HelperError], "unlock the keychain, or follow the helper's instructions; helpers from cloud vendors generate credentials, so they can't store or delete any"},
	{errorIs(credentials.ErrPath), "log in to the whole registry, or add an oci_credentials block for this path in the CLI configuration"},
	{fromProduct(anywhere, hasCredentials, hasStatus(http.StatusUnauthorized)), "log in again, or correct the stored credentials, because the registry rejects them; some registries return the same error if the repository doesn't exist"},
	{fromProduct(anywhere, hasCredentials, hasStatus(http.StatusForbidden)), "grant this account access to the repository, or log in with a different one; some registries return the same error if the repository doesn't exist"},
	{fromProduct(anywhere, hasCredentials), "log in with a user name and a password: tofu-oci login REGISTRY"},
	{fromProduct(anywhere, isDenied), "log in to the registry: tofu-oci login REGISTRY; some registries return the same error if the repository doesn't exist"},
	{errorIs(module.ErrNotCheckedOut), "to get the missing content, run git submodule update --init --recursive and git lfs pull; to omit it, list it in .terraformignore"},
	{errorIs(git.ErrIncomplete), "to mirror the package without this content, use --allow-incomplete"},
	{errorIs(git.ErrAccess), "configure a git credential helper for HTTPS or a key for SSH, because git does not prompt here; to check access, run git ls-remote"},
	{errorIs(origin.ErrToken), "renew or correct the token, or grant it access to the provider"},
	{errorIs(origin.ErrNoToken), "specify a token for the host in TF_TOKEN_… or in a credentials block in the CLI configuration"},
	{allOf(isKind(provider.Denied), isA[*provider.StatusError]), "make the URL readable without credentials, or let the registry return signed URLs, because OpenTofu and tofu-oci send no token when they request checksums, signatures, and archives"},
	{errorIs(repository.ErrContentLost), "check whether the registry's garbage collection or a cleanup job is deleting content that was just pushed; wait until that process has finished, and run the command again"},
	{errorIs(repository.ErrCorruptRetained), "delete the file with this digest from the registry's storage, because a DELETE request is not enough in some registries; then run the command again"},
	{isKind(provider.Unverified), "try again; if the error persists, don't use the content, and report the problem to the content's author"},
	{isA[*cliconfig.MergeError], "add the printed block manually, then check the file with tofu-oci doctor --config FILE"},
	{isA[*mirror.TooYoungError], "if the origin registry provides no dates, specify exact versions such as hashicorp/null@3.2.4, use --lock-file, or omit --min-age"},
	{isA[*provider.PlatformError], "select other platforms with --platform OS_ARCH"},
	{errorIs(repository.ErrUntagged), "create the layout with tofu-oci copy, or specify a tag in skopeo copy, oras copy, or regctl image copy; crane pull --format=oci writes no tags"},
	{moreVersions, "list all versions with tofu-oci list PROVIDER --from REPO"},
	{errorIs(repository.ErrNoLayout), "check the template and the path, which is relative to the current directory; mirror and publish create missing layouts"},
	{fromProduct(anywhere, isWriting, isMissing), "check the host name and the repository template; if the registry requires repositories or projects to be created first, see --on-missing-repository"},
	{isMissing, "check the host name, the repository template, and whether the provider has been mirrored; some registries return the same error if credentials are missing"},
	{errorIs(provider.ErrProviderNotFound), "check the address; the default host is " + string(provider.DefaultHost)},
	{errorIs(syscall.ENOSPC), "free some space, or use a different directory; during transfers, zips are stored in TMPDIR"},
	{errorIs(syscall.ENOTDIR), "move the file, or use a different directory; the path contains a file where a directory is expected"},
	{errorIs(syscall.EROFS), "use a different directory, or mount the file system for writing"},
	{errorIs(syscall.EISDIR), "specify a file instead of a directory"},
	{errorIs(repository.ErrDamagedLayout), "restore the layout from its source, or mirror to a different directory"},
	{has(func(e *fs.PathError) bool { return e.Op == "open" && errors.Is(e, fs.ErrPermission) }), "check the permissions of the file and its parent directories"},
	{errorIs(fs.ErrPermission), "check the permissions of the directory, or use a different one"},
	{has(func(e *credentials.FileError) bool { return strings.HasPrefix(e.Path, "$") }), "correct the value of the variable, or unset it"},
	{isA[*credentials.FileError], "fix the file, or move it; other programs read credentials from it, too"},
	{errorIs(exec.ErrNotFound), "install the program, or specify its path"},
	{errorIs(httpclient.ErrPage), "open the URL in a browser, and check the host name and HTTPS_PROXY; the response is a web page, possibly from a proxy or login portal"},
	{lacks("module package", artifact.ManifestType), "push the module with tofu-oci module push, or with oras push --artifact-type application/vnd.opentofu.modulepkg"},
	{lacks("module package", artifact.ZipLayer), "push the module with tofu-oci module push, or with oras push and FILE:archive/zip"},
	{lacks("", artifact.IndexType), "check the repository, because the tag does not point to a provider release; if oras created the index, add --artifact-type application/vnd.opentofu.provider to oras manifest index create"},
	{lacks("", artifact.ManifestType), "if oras created the packages, add --artifact-type application/vnd.opentofu.provider-target to oras push, and create the index again"},
	{lacks("", artifact.PlatformPart), "if oras created the packages, add --artifact-platform OS/ARCH to oras push, and create the index again"},
	{lacks("", artifact.ZipLayer), "if oras created the package, specify the zip as FILE:archive/zip in oras push, and create the index again"},
	{isA[*artifact.FormatError], "check the repository, because the tag does not point to an artifact that OpenTofu can read; docs/format.md describes the format"},
	{isA[*repository.ProviderMismatchError], "check the repository template, because the repository contains a different provider"},
	{isA[tls.RecordHeaderError], "check the host name; if the registry uses HTTP on purpose, add it to --plain-http"},
	{errorIs(origin.ErrNoRegistry), "check the host in the address, or configure its registry in a host block in the CLI configuration"},
	{errorIs(repository.ErrNoReferrersList), "add documents to single packages (…_OS_ARCH.spdx.json), publish or copy with --no-referrers, or promote without --reason and --by, because the registry cannot store referrers"},
	{isCutOff, "try again later; the server or a proxy closed the connection"},
	{isBusy, "try again later; the server is overloaded, limits requests, or has an internal error"},
	{unreachable, "check the host name, the proxy variables, and the network; the server might be down"},
}
