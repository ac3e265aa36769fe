package origintest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Echo responds with a status and repeats the request's credentials, like a debugging
// proxy. The credentials are in the headers and in a body of the given content type.
func Echo(status int, contentType string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		received := received(r)
		h := w.Header()
		h.Set("Content-Type", contentType+`; echo="`+received+`"`)
		h.Set("WWW-Authenticate", `Bearer realm="https://`+r.Host+`/token",service="`+received+`",error="`+received+`"`)
		h.Set("Docker-Content-Digest", received)
		h.Set("Content-Range", received)
		if status >= 300 && status < 400 {
			h.Set("Location", "/echo/"+url.PathEscape(received)+"?echo="+url.QueryEscape(received))
		}
		w.WriteHeader(status)
		switch contentType {
		case "application/json":
			one := map[string]any{"code": received, "message": received, "detail": received}
			text, _ := json.Marshal(map[string]any{"errors": []any{one}, "name": received, "providers.v1": "http://" + received + "/", "versions": received})
			_, _ = w.Write(text)
		case "text/html":
			fmt.Fprintf(w, "<html><title>%s</title></html>", received)
		default:
			fmt.Fprint(w, received)
		}
	}
}

// received returns a request's credentials in every form in which servers repeat them.
func received(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	header := r.Header.Get("Authorization")
	_, password, _ := r.BasicAuth()
	_, token, _ := strings.Cut(header, " ")
	plain := []string{header, token, password, form.Get("password"), form.Get("refresh_token")}
	all := plain
	for _, secret := range plain {
		b := []byte(secret)
		all = append(all, base64.StdEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b), url.QueryEscape(secret), url.PathEscape(secret))
	}
	return strings.Join(slices.DeleteFunc(all, func(text string) bool { return text == "" }), "|")
}
