package origintest

import "net/http"

// modulesPrefix is the path of the module registry.
const modulesPrefix = "/v1/modules/"

// The kinds of requests to the module registry.
const (
	ModuleVersions Kind = "module versions"
	ModuleLocation Kind = "module location"
	ModuleArchive  Kind = "module archive"
)

// ModuleKinds lists the kinds of requests to the module registry.
var ModuleKinds = []Kind{ModuleVersions, ModuleLocation, ModuleArchive}

// Module is a version of a module.
type Module struct {
	// Name is NAMESPACE/NAME/SYSTEM.
	Name, Version string
	// Location is the value of the X-Terraform-Get header. If empty, the header is
	// omitted.
	Location string
	// Archive, if not nil, is served at a relative URL, which replaces Location.
	Archive []byte
	// JSON, if not nil, is the body of the response that contains the location.
	JSON any
	// Discovered, if not empty, is the time when the registry found the version.
	Discovered string
}

// AddModule adds a version of a module, or replaces the version.
func (o *Origin) AddModule(m Module) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, existing := range o.modules {
		if existing.Name == m.Name && existing.Version == m.Version {
			o.modules[i] = m
			return
		}
	}
	o.modules = append(o.modules, m)
}

func moduleName(r *http.Request) string {
	return r.PathValue("namespace") + "/" + r.PathValue("name") + "/" + r.PathValue("system")
}

// modulesOf returns the versions of a module.
func (o *Origin) modulesOf(name string) (found []Module) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.modules {
		if m.Name == name {
			found = append(found, m)
		}
	}
	return found
}

func (o *Origin) moduleVersions(w http.ResponseWriter, r *http.Request) {
	list := []map[string]any{}
	for _, m := range o.modulesOf(moduleName(r)) {
		entry := map[string]any{"version": m.Version}
		if m.Discovered != "" {
			entry["discovered"] = m.Discovered
		}
		list = append(list, entry)
	}
	if len(list) == 0 {
		notFound(w)
		return
	}
	serveJSON(w, r, map[string]any{"modules": []any{map[string]any{"versions": list}}})
}

func (o *Origin) moduleLocation(w http.ResponseWriter, r *http.Request) {
	for _, m := range o.modulesOf(moduleName(r)) {
		if m.Version != r.PathValue("version") {
			continue
		}
		if m.Archive != nil {
			m.Location = "./archive"
		}
		if m.Location != "" {
			w.Header().Set("X-Terraform-Get", m.Location)
		}
		if m.JSON != nil {
			serveJSON(w, r, m.JSON)
			return
		}
		w.WriteHeader(http.StatusNoContent)
		return
	}
	notFound(w)
}

func (o *Origin) moduleArchive(w http.ResponseWriter, r *http.Request) {
	for _, m := range o.modulesOf(moduleName(r)) {
		if m.Version == r.PathValue("version") {
			serveBytes(w, r, "application/zip", m.Archive)
			return
		}
	}
	notFound(w)
}
