package main

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

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/launch"
	"github.com/tofu-oci/tofu-oci/internal/logins"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
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
	"github.com/tofu-oci/tofu-oci/pkg/serve"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/source/filesystem"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// exported has a value of every error that the packages export, and its class.
var exported = map[string]struct {
	err  error
	want class
}{
	"access.ErrDenied":                 {access.ErrDenied, denied},
	"access.ErrNoToken":                {access.ErrNoToken, denied},
	"access.ErrUnavailable":            {access.ErrUnavailable, transient},
	"repository.DeniedError":           {&repository.DeniedError{}, conflict},
	"approval.ErrIncomplete":           {approval.ErrIncomplete, refused},
	"lock.ErrIncomplete":               {lock.ErrIncomplete, refused},
	"repository.ErrUntagged":           {repository.ErrUntagged, refused},
	"approval.ErrNotPending":           {approval.ErrNotPending, missing},
	"artifact.FormatError":             {&artifact.FormatError{}, malformed},
	"builddir.PackageError":            {&builddir.PackageError{}, unverified},
	"cliconfig.MergeError":             {&cliconfig.MergeError{}, conflict},
	"api.ErrNoSBOM":                    {api.ErrNoSBOM, refused},
	"catalog.TemplateError":            {&catalog.TemplateError{}, misuse},
	"api.ErrNoAPI":                     {api.ErrNoAPI, missing},
	"repository.CatalogError":          {&repository.CatalogError{}, refused},
	"builddir.SumsError":               {&builddir.SumsError{Err: &sums.MismatchError{}}, unverified},
	"repository.LoginError":            {&repository.LoginError{Err: provider.ErrDenied}, denied},
	"repository.LookupError":           {&repository.LookupError{Err: errors.New("no JSON")}, unknown},
	"repository.NoLayoutError":         {&repository.NoLayoutError{}, missing},
	"configuration.ErrNoConfiguration": {configuration.ErrNoConfiguration, misuse},
	"exec.StartError":                  {&exec.StartError{}, misuse},
	"filesystem.UnpackedError":         {&filesystem.UnpackedError{}, misuse},
	"installation.NoMirrorError":       {&installation.NoMirrorError{}, misuse},
	"installation.NotSupportedError":   {&installation.NotSupportedError{}, misuse},
	"installation.UnresolvedError":     {&installation.UnresolvedError{}, missing},
	"launch.Error":                     {&launch.Error{}, unverified},
	"lock.ErrNoFile":                   {lock.ErrNoFile, missing},
	"lock.ErrNotLocked":                {lock.ErrNotLocked, missing},
	"lock.HashError":                   {&lock.HashError{}, unverified},
	"lock.UpgradeError":                {&lock.UpgradeError{}, conflict},
	"lockfile.BusyError":               {&lockfile.BusyError{}, transient},
	"logins.ErrNoFiles":                {logins.ErrNoFiles, misuse},
	"logins.FileError":                 {&logins.FileError{Err: errors.New("x")}, malformed},
	"logins.HelperError":               {&logins.HelperError{Err: errors.New("x")}, refused},
	"logins.PartError":                 {&logins.PartError{}, misuse},
	"stricthcl.Error":                  {&stricthcl.Error{}, malformed},
	"lockfile.Error":                   {&lockfile.Error{}, misuse},
	"origin.PageError":                 {&origin.PageError{}, transient},
	"origin.TokenError":                {&origin.TokenError{Err: provider.ErrDenied}, denied},
	"origin.ErrNoRegistry":             {origin.ErrNoRegistry, missing},
	"mirror.TooYoungError":             {&mirror.TooYoungError{}, refused},
	"provider.ArchiveError":            {&provider.ArchiveError{}, unverified},
	"provider.DowngradeError":          {&provider.DowngradeError{}, refused},
	"provider.ErrDenied":               {provider.ErrDenied, denied},
	"provider.ErrProviderNotFound":     {provider.ErrProviderNotFound, missing},
	"provider.ErrVersionNotFound":      {provider.ErrVersionNotFound, missing},
	"provider.ErrWrongSource":          {provider.ErrWrongSource, refused},
	"provider.Error":                   {&provider.Error{Err: provider.ErrDenied}, denied},
	"provider.VersionError":            {&provider.VersionError{}, missing},
	"provider.ProxyError":              {&provider.ProxyError{Err: io.EOF}, transient},
	"provider.IdentityError":           {&provider.IdentityError{}, unverified},
	"provider.PlatformError":           {&provider.PlatformError{}, missing},
	"provider.StatusError":             {&provider.StatusError{Status: 503}, transient},
	"provider.SyntaxError":             {&provider.SyntaxError{}, malformed},
	"provider.TooLargeError":           {&provider.TooLargeError{}, refused},
	"provider.TransientError":          {&provider.TransientError{Err: io.EOF}, transient},
	"provider.UnreadableError":         {&provider.UnreadableError{}, refused},
	"pullthrough.ErrBusy":              {pullthrough.ErrBusy, transient},
	"pullthrough.ErrStored":            {pullthrough.ErrStored, refused},
	"pullthrough.FailedError":          {&pullthrough.FailedError{Err: io.EOF}, transient},
	"pullthrough.RefusedError":         {&pullthrough.RefusedError{Err: io.EOF}, refused},
	"pull.ExistsError":                 {&pull.ExistsError{}, conflict},
	"pull.PortError":                   {&pull.PortError{}, misuse},
	"repository.ConflictError":         {&repository.ConflictError{}, conflict},
	"repository.ErrNoRepository":       {repository.ErrNoRepository, missing},
	"repository.ErrNotFound":           {repository.ErrNotFound, refused},
	"publish.ErrBytes":                 {publish.ErrBytes, misuse},
	"repository.ErrSubject":            {repository.ErrSubject, refused},
	"repository.ErrTagLost":            {repository.ErrTagLost, transient},
	"repository.ErrTagStays":           {repository.ErrTagStays, refused},
	"repository.ErrTagMoved":           {repository.ErrTagMoved, transient},
	"repository.ForeignError":          {&repository.ForeignError{}, conflict},
	"repository.KeptDamagedError":      {&repository.KeptDamagedError{}, unverified},
	"repository.DamagedLayoutError":    {&repository.DamagedLayoutError{Err: errors.New("x")}, refused},
	"repository.LostError":             {&repository.LostError{Err: repository.ErrNotFound}, refused},
	"repository.PageError":             {&repository.PageError{}, transient},
	"repository.RealmError":            {&repository.RealmError{}, refused},
	"repository.Error":                 {&repository.Error{Err: repository.ErrNotFound}, refused},
	"repository.ResponseError":         {&repository.ResponseError{Status: 500}, transient},
	"repository.SourceMovedError":      {&repository.SourceMovedError{}, transient},
	"repository.TraitsError":           {&repository.TraitsError{}, refused},
	"serve.ErrInsecure":                {serve.ErrInsecure, misuse},
	"store.AbsentError":                {&store.AbsentError{}, missing},
	"store.NotCacheError":              {&store.NotCacheError{}, misuse},
	"sums.MismatchError":               {&sums.MismatchError{}, unverified},
	"sums.MissingError":                {&sums.MissingError{}, unverified},
	"sums.SizeError":                   {&sums.SizeError{}, unverified},
	"sums.SyntaxError":                 {&sums.SyntaxError{}, unverified},
	"sums.ZipError":                    {&sums.ZipError{}, unverified},
	"template.ReferenceError":          {&template.ReferenceError{}, misuse},
	"trust.KeyError":                   {&trust.KeyError{}, malformed},
	"trust.RefusedError":               {&trust.RefusedError{}, unverified},
}

// TestEveryExportedErrorHasItsClass reads the packages' sources, so that an error
// which is added there has to be given a class here.
func TestEveryExportedErrorHasItsClass(t *testing.T) {
	t.Parallel()
	found := exportedErrors(t, "../../pkg")
	for _, dir := range []string{"catalog", "launch", "logins", "opentofu", "serve", "stricthcl"} {
		maps.Copy(found, exportedErrors(t, "../../internal/"+dir))
	}
	for name := range found {
		if _, known := exported[name]; !known {
			t.Errorf("%s has no class: a caller, and the exit code, could not tell it apart", name)
		}
	}
	for name, test := range exported {
		if !found[name] {
			t.Errorf("there is no %s any more", name)
		}
		if got := classOf(test.err); got != test.want {
			t.Errorf("%s is %s, want %s", name, got, test.want)
		}
	}
	for _, c := range classes {
		if _, has := exitCodes[c.class]; !has {
			t.Errorf("the class %s has no exit code", c.class)
		}
	}
}

// TestClassesInOrder: of several things that an error is, the gravest counts.
func TestClassesInOrder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want class
	}{
		"wrong bytes, refused": {errors.Join(provider.ErrDenied, &sums.MismatchError{}), unverified},
		"denied, not found":    {errors.Join(provider.ErrProviderNotFound, provider.ErrDenied), denied},
		"interrupted":          {context.Canceled, interrupted},
		"no connection":        {&provider.ProxyError{Status: http.StatusBadGateway, Err: io.EOF}, transient},
		"refused by the proxy": {&provider.TransientError{Err: &provider.ProxyError{Status: http.StatusProxyAuthRequired, Err: io.EOF}}, denied},
		"logins not readable":  {&logins.FileError{Err: syscall.EACCES}, unknown},
		"logins not there":     {&logins.FileError{Err: fs.ErrNotExist}, unknown},
		"no helper":            {&logins.HelperError{Err: osexec.ErrNotFound}, denied},
		"anything":             {errors.New("anything"), unknown},
	} {
		if got := classOf(test.err); got != test.want {
			t.Errorf("%s is %s, want %s", name, got, test.want)
		}
	}
}

// exportedErrors finds types with a method Error() string, and variables named
// Err…, as package.Name.
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
