package serve

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// unlisted says why the providers of a template are not listed, where asking again will
// not change that; it is empty for trouble that may pass. Callers see it.
func unlisted(t template.Template, err error) string {
	none, refused := errors.AsType[*repository.CatalogError](err)
	_, beyond := errors.AsType[*catalog.TemplateError](err)
	_, unfit := errors.AsType[*template.ReferenceError](err)
	const remedy = "their providers can be named in a file, by serve --providers FILE"
	switch {
	case refused:
		return fmt.Sprintf("The registry %s does not list its repositories to this server; %s.", none.Registry, remedy)
	case beyond, unfit:
		return fmt.Sprintf("The repositories of %s cannot be listed; %s.", t.Redacted(), remedy)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("There is no directory for %s yet.", t.Redacted())
	}
	return ""
}
