package httpclient

import (
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/redact"
)

// maxForm limits the part of a form that is searched for credentials, in bytes.
const maxForm = 64 << 10

// secretName matches the names of parameters and form fields that hold a credential:
// those of OAuth 2.0, and of URLs that storage services sign.
var secretName = regexp.MustCompile(`(?i)^(?:.*[-_])?(?:token|secret|password|signature|credential|sig|assertion)$`)

// SentWith returns the credentials of a request, including those in its URL, its form, and
// for its proxy, and those of the requests that were redirected to it. All text of the
// response must pass through [redact.Secrets.Text] before it becomes part of an error or log.
func SentWith(req *http.Request) redact.Secrets {
	var all redact.Secrets
	for req != nil {
		for _, value := range req.Header["Authorization"] {
			all = append(append(all, value), ofHeader(value)...)
		}
		all = append(all, ofLogin(req.URL.User)...)
		all = append(all, ofValues(req.URL.Query())...)
		all = append(all, ofValues(formOf(req))...)
		if proxy, err := http.ProxyFromEnvironment(req); err == nil && proxy != nil {
			all = append(all, ofLogin(proxy.User)...)
		}
		if req.Response == nil {
			break
		}
		req = req.Response.Request
	}
	return all
}

// ofHeader returns the credentials of an Authorization header.
func ofHeader(value string) redact.Secrets {
	scheme, credential, _ := strings.Cut(value, " ")
	pair, err := base64.StdEncoding.DecodeString(credential)
	if !strings.EqualFold(scheme, "basic") || err != nil {
		return redact.Secrets{credential}
	}
	username, password, _ := strings.Cut(string(pair), ":")
	return ofLogin(url.UserPassword(username, password))
}

// ofLogin returns the password, and the user name with the password. Without a password,
// the user name is the secret.
func ofLogin(login *url.Userinfo) redact.Secrets {
	if login == nil {
		return nil
	}
	username := login.Username()
	switch password, _ := login.Password(); {
	case password != "":
		return redact.Secrets{password, username + ":" + password}
	case username != "":
		return redact.Secrets{username, username + ":"}
	}
	return nil
}

// ofValues returns the credentials in a query or a form.
func ofValues(values url.Values) (all redact.Secrets) {
	for name, texts := range values {
		for _, text := range texts {
			if secretName.MatchString(name) || isSecret(text) {
				all = append(all, text)
			}
		}
	}
	return all
}

// formOf returns the form in the body of a request, without consuming the body.
func formOf(req *http.Request) url.Values {
	mediaType, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if mediaType != "application/x-www-form-urlencoded" || req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	defer func() { _ = body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(body, maxForm))
	form, _ := url.ParseQuery(string(text))
	return form
}
