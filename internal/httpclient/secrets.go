package httpclient

import (
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// maxForm limits, in bytes, the part of a form that is searched for credentials.
const maxForm = 64 << 10

// secretName matches the names of parameters and form fields that contain credentials.
// OAuth 2.0 and the signed URLs of storage services use these names.
var secretName = regexp.MustCompile(`(?i)^(?:.*[-_])?(?:token|secret|password|signature|credential|sig|assertion)$`)

// SentWith returns the credentials of a request and of the requests that were
// redirected to it. The credentials can be in the headers, the URL, or the form. They
// can also belong to a proxy. Any text from the response must pass through
// [text.Secrets.Text] before it becomes part of an error or log.
func SentWith(req *http.Request) text.Secrets {
	var all text.Secrets
	for req != nil {
		for _, value := range req.Header["Authorization"] {
			all = append(append(all, value), headerSecrets(value)...)
		}
		all = append(all, userinfoSecrets(req.URL.User)...)
		all = append(all, valueSecrets(req.URL.Query())...)
		all = append(all, valueSecrets(formOf(req))...)
		if proxy, err := http.ProxyFromEnvironment(req); err == nil && proxy != nil {
			all = append(all, userinfoSecrets(proxy.User)...)
		}
		if req.Response == nil {
			break
		}
		req = req.Response.Request
	}
	return all
}

// headerSecrets returns the credentials in an Authorization header.
func headerSecrets(value string) text.Secrets {
	scheme, credential, _ := strings.Cut(value, " ")
	pair, err := base64.StdEncoding.DecodeString(credential)
	if !strings.EqualFold(scheme, "basic") || err != nil {
		return text.Secrets{credential}
	}
	username, password, _ := strings.Cut(string(pair), ":")
	return userinfoSecrets(url.UserPassword(username, password))
}

// userinfoSecrets returns the password, both on its own and in the form USER:PASSWORD.
// Without a password, the user name is the secret.
func userinfoSecrets(login *url.Userinfo) text.Secrets {
	if login == nil {
		return nil
	}
	username := login.Username()
	switch password, _ := login.Password(); {
	case password != "":
		return text.Secrets{password, username + ":" + password}
	case username != "":
		return text.Secrets{username, username + ":"}
	}
	return nil
}

// valueSecrets returns the credentials in a query or a form.
func valueSecrets(values url.Values) (all text.Secrets) {
	for name, texts := range values {
		for _, text := range texts {
			if secretName.MatchString(name) || isSecret(text) {
				all = append(all, text)
			}
		}
	}
	return all
}

// formOf returns the form in a request body without consuming the body.
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
