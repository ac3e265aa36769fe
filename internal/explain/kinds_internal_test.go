package explain

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"net/http"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/bundle"
	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/exec"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/launch"
	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/filesystem"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/networkmirror"
	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/internal/serve/spool"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// exported maps each exported error to an example value and its kind.
var exported = map[string]struct {
	err  error
	want provider.ErrorKind
}{
	"access.ErrInvalidToken":            {access.ErrInvalidToken, provider.Denied},
	"access.ErrNoToken":                 {access.ErrNoToken, provider.Denied},
	"access.ErrUnavailable":             {access.ErrUnavailable, provider.Transient},
	"repository.DeniedError":            {&repository.DeniedError{}, provider.Conflict},
	"module.ErrNotCheckedOut":           {module.ErrNotCheckedOut, provider.Refused},
	"approval.ErrIncomplete":            {approval.ErrIncomplete, provider.Refused},
	"approval.ErrPendingKept":           {approval.ErrPendingKept, provider.Refused},
	"lock.ErrIncomplete":                {lock.ErrIncomplete, provider.Refused},
	"repository.ErrInUse":               {repository.ErrInUse, provider.Refused},
	"repository.ErrContentDeleted":      {repository.ErrContentDeleted, provider.Transient},
	"repository.ErrOtherServer":         {repository.ErrOtherServer, provider.Refused},
	"repository.ErrUntagged":            {repository.ErrUntagged, provider.Refused},
	"approval.ErrNothingToPromote":      {approval.ErrNothingToPromote, provider.NotFound},
	"approval.ErrNotPending":            {approval.ErrNotPending, provider.NotFound},
	"artifact.FormatError":              {&artifact.FormatError{}, provider.Malformed},
	"builddir.PackageError":             {&builddir.PackageError{}, provider.Unverified},
	"cliconfig.MergeError":              {&cliconfig.MergeError{}, provider.Conflict},
	"bundle.DamagedError":               {&bundle.DamagedError{Err: provider.Errorf(provider.Unverified, "damaged")}, provider.Unverified},
	"bundle.MissingPartError":           {&bundle.MissingPartError{}, provider.NotFound},
	"bundle.ErrIncomplete":              {bundle.ErrIncomplete, provider.Unknown},
	"catalog.ErrTemplate":               {catalog.ErrTemplate, provider.Misuse},
	"repository.ErrNoCatalog":           {repository.ErrNoCatalog, provider.Refused},
	"builddir.ErrSums":                  {builddir.ErrSums, provider.Unverified},
	"repository.ErrNoLayout":            {repository.ErrNoLayout, provider.NotFound},
	"configuration.ErrNoConfiguration":  {configuration.ErrNoConfiguration, provider.Misuse},
	"exec.ErrPluginDir":                 {exec.ErrPluginDir, provider.Misuse},
	"exec.StartError":                   {&exec.StartError{}, provider.Misuse},
	"exec.UnlockedError":                {&exec.UnlockedError{}, provider.NotFound},
	"filesystem.ErrUnpacked":            {filesystem.ErrUnpacked, provider.Misuse},
	"installation.NoMirrorError":        {&installation.NoMirrorError{}, provider.Misuse},
	"installation.ErrNotSupported":      {installation.ErrNotSupported, provider.Misuse},
	"installation.UnresolvedError":      {&installation.UnresolvedError{}, provider.NotFound},
	"launch.Error":                      {&launch.Error{}, provider.Unverified},
	"lock.ErrNoFile":                    {lock.ErrNoFile, provider.NotFound},
	"lock.ErrNotLocked":                 {lock.ErrNotLocked, provider.NotFound},
	"lock.HashError":                    {&lock.HashError{}, provider.Unverified},
	"lock.ErrLocked":                    {lock.ErrLocked, provider.Conflict},
	"lockfile.ErrChanged":               {lockfile.ErrChanged, provider.Transient},
	"credentials.ErrNoFiles":            {credentials.ErrNoFiles, provider.Misuse},
	"credentials.FileError":             {&credentials.FileError{Err: errors.New("x")}, provider.Malformed},
	"credentials.HelperError":           {&credentials.HelperError{Err: errors.New("x")}, provider.Refused},
	"credentials.ErrPath":               {credentials.ErrPath, provider.Misuse},
	"lockfile.ErrSyntax":                {lockfile.ErrSyntax, provider.Misuse},
	"networkmirror.HashError":           {&networkmirror.HashError{}, provider.Unverified},
	"origin.ErrToken":                   {origin.ErrToken, provider.Denied},
	"origin.ErrNoToken":                 {origin.ErrNoToken, provider.Denied},
	"origin.ErrModuleNotFound":          {origin.ErrModuleNotFound, provider.NotFound},
	"origin.ErrNoRegistry":              {origin.ErrNoRegistry, provider.NotFound},
	"mirror.TooYoungError":              {&mirror.TooYoungError{}, provider.Refused},
	"module.MissingError":               {&module.MissingError{}, provider.NotFound},
	"provider.ErrForbidden":             {provider.ErrForbidden, provider.Denied},
	"provider.ErrProviderNotFound":      {provider.ErrProviderNotFound, provider.NotFound},
	"provider.ErrVersionNotFound":       {provider.ErrVersionNotFound, provider.NotFound},
	"provider.ErrWrongSource":           {provider.ErrWrongSource, provider.Refused},
	"httpclient.ClientCertificateError": {&httpclient.ClientCertificateError{Err: io.EOF}, provider.Denied},
	"provider.Error":                    {&provider.Error{Err: provider.ErrForbidden}, provider.Denied},
	"provider.VersionError":             {&provider.VersionError{}, provider.NotFound},
	"httpclient.ErrPage":                {httpclient.ErrPage, provider.Transient},
	"httpclient.ErrDowngrade":           {httpclient.ErrDowngrade, provider.Refused},
	"httpclient.ErrTooLarge":            {httpclient.ErrTooLarge, provider.Refused},
	"httpclient.ErrLongURL":             {httpclient.ErrLongURL, provider.Refused},
	"httpclient.RetryableError":         {&httpclient.RetryableError{Err: provider.ErrForbidden}, provider.Denied},
	"httpclient.ProxyError":             {&httpclient.ProxyError{Err: io.EOF}, provider.Transient},
	"provider.IdentityError":            {&provider.IdentityError{}, provider.Unverified},
	"provider.PlatformError":            {&provider.PlatformError{}, provider.NotFound},
	"provider.StatusError":              {&provider.StatusError{Status: 503}, provider.Transient},
	"provider.SyntaxError":              {&provider.SyntaxError{}, provider.Malformed},
	"provider.TransientError":           {&provider.TransientError{Err: io.EOF}, provider.Transient},
	"pullthrough.ErrBusy":               {pullthrough.ErrBusy, provider.Transient},
	"spool.ErrNotStored":                {spool.ErrNotStored, provider.Transient},
	"pullthrough.ErrStored":             {pullthrough.ErrStored, provider.Refused},
	"pullthrough.FailedError":           {&pullthrough.FailedError{Err: io.EOF}, provider.Transient},
	"pullthrough.RefusedError":          {&pullthrough.RefusedError{Err: io.EOF}, provider.Refused},
	"publish.HeldError":                 {&publish.HeldError{}, provider.Refused},
	"pull.ErrExists":                    {pull.ErrExists, provider.Conflict},
	"pull.ErrPort":                      {pull.ErrPort, provider.Misuse},
	"repository.ConflictError":          {&repository.ConflictError{}, provider.Conflict},
	"repository.ErrNoRepository":        {repository.ErrNoRepository, provider.NotFound},
	"repository.ErrNotFound":            {repository.ErrNotFound, provider.Refused},
	"repository.ErrNoReferrersList":     {repository.ErrNoReferrersList, provider.Refused},
	"repository.ErrTagNotDeleted":       {repository.ErrTagNotDeleted, provider.Refused},
	"repository.ErrTagMoved":            {repository.ErrTagMoved, provider.Transient},
	"repository.ProviderMismatchError":  {&repository.ProviderMismatchError{}, provider.Conflict},
	"repository.ErrContentLost":         {repository.ErrContentLost, provider.Transient},
	"repository.ErrCorruptRetained":     {repository.ErrCorruptRetained, provider.Unverified},
	"repository.ErrDamagedLayout":       {repository.ErrDamagedLayout, provider.Refused},
	"repository.DanglingTagError":       {&repository.DanglingTagError{Err: repository.ErrNotFound}, provider.Refused},
	"repository.RealmError":             {&repository.RealmError{}, provider.Refused},
	"repository.Error":                  {&repository.Error{Err: repository.ErrNotFound}, provider.Refused},
	"repository.ResponseError":          {&repository.ResponseError{Status: 500}, provider.Transient},
	"serve.ErrInsecure":                 {serve.ErrInsecure, provider.Misuse},
	"stricthcl.Error":                   {&stricthcl.Error{}, provider.Malformed},
	"store.ErrNotCached":                {store.ErrNotCached, provider.NotFound},
	"store.ErrNotCache":                 {store.ErrNotCache, provider.Misuse},
	"sync.StaleError":                   {&sync.StaleError{}, provider.Conflict},
	"sums.MismatchError":                {&sums.MismatchError{}, provider.Unverified},
	"sums.FileError":                    {&sums.FileError{}, provider.Unverified},
	"sums.SizeError":                    {&sums.SizeError{}, provider.Unverified},
	"template.ReferenceError":           {&template.ReferenceError{}, provider.Misuse},
	"trust.ErrNoPassphrase":             {trust.ErrNoPassphrase, provider.Malformed},
	"trust.RefusedError":                {&trust.RefusedError{}, provider.Unverified},
}

// TestExportedErrorsHaveKinds finds exported errors in the source code. Each new error
// must therefore be added to the table.
func TestExportedErrorsHaveKinds(t *testing.T) {
	t.Parallel()
	found, kinds := exportedErrors(t, "../../pkg"), map[provider.ErrorKind]bool{}
	for _, dir := range []string{"bundle", "catalog", "credentials", "exec", "httpclient", "launch", "lock", "opentofu", "serve", "stricthcl", "sync"} {
		maps.Copy(found, exportedErrors(t, "../"+dir))
	}
	for name := range found {
		if _, known := exported[name]; !known {
			t.Errorf("%s has no kind: a caller, and the exit code, could not tell it apart", name)
		}
	}
	for name, test := range exported {
		if !found[name] {
			t.Errorf("%s does not exist", name)
		}
		if got := provider.KindOf(test.err); got != test.want {
			t.Errorf("%s is %s, want %s", name, got, test.want)
		}
		kinds[test.want] = true
	}
	for kind := range ExitCodes {
		delete(kinds, kind)
	}
	if len(kinds) > 0 {
		t.Errorf("no exit code: %v", kinds)
	}
}

// TestKindsInOrder checks that an error with multiple kinds has the most severe kind.
func TestKindsInOrder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want provider.ErrorKind
	}{
		"wrong bytes, refused": {errors.Join(provider.ErrForbidden, &sums.MismatchError{}), provider.Unverified},
		"denied, not found":    {errors.Join(provider.ErrProviderNotFound, provider.ErrForbidden), provider.Denied},
		"interrupted":          {context.Canceled, provider.Interrupted},
		"no connection":        {&httpclient.ProxyError{Status: http.StatusBadGateway, Err: io.EOF}, provider.Transient},
		"refused by the proxy": {&provider.TransientError{Err: &httpclient.ProxyError{Status: http.StatusProxyAuthRequired, Err: io.EOF}}, provider.Denied},
		"logins not readable":  {&credentials.FileError{Err: syscall.EACCES}, provider.Unknown},
		"logins not there":     {&credentials.FileError{Err: fs.ErrNotExist}, provider.Unknown},
		"no helper":            {&credentials.HelperError{Err: osexec.ErrNotFound}, provider.Denied},
		"anything":             {errors.New("anything"), provider.Unknown},
	} {
		if got := provider.KindOf(test.err); got != test.want {
			t.Errorf("%s is %s, want %s", name, got, test.want)
		}
	}
}

// exportedErrors returns the types that have a method Error() string, and the variables
// named Err…. The names have the form package.Name.
func exportedErrors(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		add := func(name string) {
			if ast.IsExported(name) {
				found[file.Name.Name+"."+name] = true
			}
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && d.Name.Name == "Error" && d.Type.Params.NumFields() == 0 {
					add(receiver(d.Recv.List[0].Type))
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if value, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR && strings.HasPrefix(value.Names[0].Name, "Err") {
						add(value.Names[0].Name)
					}
				}
			}
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("%d errors found, %v", len(found), err)
	}
	return found
}

func receiver(expr ast.Expr) string {
	if star, ok := expr.(*ast.StarExpr); ok {
		expr = star.X
	}
	if name, ok := expr.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}
