package registrytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

const catalogPath = "/v2/_catalog"

// catalog lists the repositories in pages. Each page contains a link to the next page.
func (r *Registry) catalog(w http.ResponseWriter, req *http.Request) {
	if status := r.options.NoCatalog; status != 0 {
		respondError(w, status, "UNSUPPORTED", "the catalog is not for you")
		return
	}
	var list struct {
		Repositories []string `json:"repositories"`
	}
	_ = json.Unmarshal(r.ask(req, http.MethodGet, catalogPath).Body.Bytes(), &list)
	slices.Sort(list.Repositories)
	last := req.URL.Query().Get("last")
	list.Repositories = slices.DeleteFunc(list.Repositories, func(name string) bool { return name <= last })
	if n := r.options.PageSize; n > 0 && len(list.Repositories) > n {
		list.Repositories = list.Repositories[:n]
		query := url.Values{"last": {list.Repositories[n-1]}, "n": {fmt.Sprint(n)}}
		w.Header().Set("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, catalogPath, query.Encode()))
	}
	text, _ := json.Marshal(list)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}
