package origintest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

func (o *Origin) discovery(w http.ResponseWriter, r *http.Request) {
	serveJSON(w, r, map[string]any{"modules.v1": modulesPrefix, "providers.v1": o.options.Service})
}

func (o *Origin) versions(w http.ResponseWriter, r *http.Request) {
	list := []map[string]any{}
	for _, rel := range o.find(r.PathValue("namespace"), r.PathValue("type")) {
		platforms := []map[string]string{}
		for _, p := range rel.platforms() {
			platforms = append(platforms, map[string]string{"os": p.OS, "arch": p.Arch})
		}
		entry := map[string]any{"version": rel.Version, "protocols": rel.Protocols, "platforms": platforms}
		if rel.List != nil {
			rel.List(entry)
		}
		list = append(list, entry)
	}
	if len(list) == 0 {
		notFound(w)
		return
	}
	serveJSON(w, r, map[string]any{"versions": list, "warnings": nil})
}

func (o *Origin) packageDocument(w http.ResponseWriter, r *http.Request) {
	rel := o.release(r)
	p := provider.Platform{OS: r.PathValue("os"), Arch: r.PathValue("arch")}
	if rel == nil {
		notFound(w)
		return
	}
	a, offered := rel.archives[p]
	if !offered {
		notFound(w)
		return
	}
	files := filesPath + rel.Namespace + "/" + rel.Type + "/" + rel.Version + "/"
	switch {
	case o.options.FilesBase != "":
		files = o.options.FilesBase + files
	case !o.options.RelativeURLs:
		files = "https://" + r.Host + files
	}
	document := map[string]any{
		"protocols": rel.Protocols, "os": p.OS, "arch": p.Arch,
		"filename": a.Name, "download_url": files + a.Name, "shasum": a.digest.Encoded(),
		"signing_keys": map[string]any{"gpg_public_keys": rel.keys()},
	}
	if !rel.NoSums {
		document["shasums_url"] = files + rel.sumsName
		if rel.Signature != nil {
			document["shasums_signature_url"] = files + rel.sumsName + ".sig"
		}
	}
	if !o.options.NoPackages {
		document["packages"] = rel.packages()
	}
	if rel.Edit != nil {
		rel.Edit(p, document)
	}
	serveJSON(w, r, document)
}

// file serves the files to which package documents refer.
func (o *Origin) file(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	o.kind(kindOfFile(name), func(w http.ResponseWriter, r *http.Request) {
		rel := o.release(r)
		if rel == nil {
			notFound(w)
			return
		}
		switch {
		case name == rel.sumsName && !rel.NoSums:
			if !rel.Modified.IsZero() {
				w.Header().Set("Last-Modified", rel.Modified.UTC().Format(http.TimeFormat))
			}
			serveBytes(w, r, "text/plain", rel.Sums)
			return
		case name == rel.sumsName+".sig" && rel.Signature != nil:
			serveBytes(w, r, "application/octet-stream", rel.Signature)
			return
		}
		for _, a := range rel.archives {
			if a.Name == name {
				if o.options.ETags {
					w.Header().Set("ETag", `"`+a.digest.Encoded()+`"`)
				}
				a.serve(w, r)
				return
			}
		}
		notFound(w)
	})(w, r)
}

// serve sends the archive or a requested range of the archive.
func (a archive) serve(w http.ResponseWriter, r *http.Request) {
	c, done, err := a.open()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer done()
	w.Header().Set("Content-Type", "application/zip")
	http.ServeContent(w, r, "", time.Time{}, c)
}

func (o *Origin) find(namespace, typ string) []*release {
	o.mu.Lock()
	defer o.mu.Unlock()
	var found []*release
	for _, rel := range o.releases {
		if rel.Namespace == namespace && rel.Type == typ {
			found = append(found, rel)
		}
	}
	return found
}

// release returns the release for a request's path, or nil if the release does not
// exist. The path of a package document contains the canonical version. The path of a
// file contains the version as specified in the Release.
func (o *Origin) release(r *http.Request) *release {
	for _, rel := range o.find(r.PathValue("namespace"), r.PathValue("type")) {
		asked := r.PathValue("version")
		if v, err := provider.ParseVersion(rel.Version); rel.Version == asked && r.PathValue("os") == "" || err == nil && v.String() == asked {
			return rel
		}
	}
	return nil
}

func (r *release) platforms() []provider.Platform {
	var ps []provider.Platform
	for p := range r.archives {
		ps = append(ps, p)
	}
	return provider.SortPlatforms(ps)
}

func (r *release) keys() []map[string]string {
	keys := []map[string]string{}
	for _, armor := range r.Keys {
		keys = append(keys, map[string]string{"key_id": "", "ascii_armor": armor})
	}
	return keys
}

// packages returns the "packages" block, in which registry.opentofu.org lists all
// platforms.
func (r *release) packages() map[string]any {
	all := map[string]any{}
	for p, a := range r.archives {
		hashes := []string{sums.ZH(a.digest)}
		if a.h1 != "" {
			hashes = append(hashes, a.h1)
		}
		all[p.String()] = map[string]any{"hashes": hashes, "package_size": a.size}
	}
	return all
}

func serveJSON(w http.ResponseWriter, r *http.Request, document any) {
	text, err := json.Marshal(document)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	serveBytes(w, r, "application/json; charset=utf-8", text)
}

func serveBytes(w http.ResponseWriter, r *http.Request, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

func notFound(w http.ResponseWriter) {
	http.Error(w, `{"errors":["Not Found"]}`, http.StatusNotFound)
}
