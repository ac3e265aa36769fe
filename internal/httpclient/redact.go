package httpclient

import (
	"errors"
	"net/http"
	"net/url"
)

// RedactURL gives the URL without query, fragment and user information: signed
// download URLs carry their secret there. It is empty for nil.
func RedactURL(u *url.URL) string {
	if u == nil {
		return ""
	}
	clean := *u
	clean.User, clean.RawQuery, clean.ForceQuery = nil, "", false
	clean.Fragment, clean.RawFragment = "", ""
	return clean.String()
}

// RedactError gives err with the URL redacted, as in [RedactURL], when err is a
// *[url.Error], which http.Client and url.Parse make of every failure.
func RedactError(err error) error {
	var failure *url.Error
	if !errors.As(err, &failure) {
		return err
	}
	clean := *failure
	if u, parseErr := url.Parse(failure.URL); parseErr != nil {
		clean.URL = "(a URL that can't be read)"
	} else {
		clean.URL = RedactURL(u)
	}
	return &clean
}

// Do makes a request whose errors have no secret in them, see [RedactError].
func Do(client *http.Client, req *http.Request) (*http.Response, error) {
	resp, err := client.Do(req)
	if err != nil {
		// CheckRedirect's refusal comes with a response whose body is closed.
		return nil, RedactError(err)
	}
	return resp, nil
}
