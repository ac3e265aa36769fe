package main_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// webhookPath is the path of the scripts' webhook. The path is a secret.
const webhookPath = "/webhook/canary-webhook"

// withWebhook adds a webhook that writes the messages to a file in dir.
func withWebhook(dir string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != webhookPath {
			next.ServeHTTP(rw, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "webhook.json"), body, 0o600)
		}
		if err != nil {
			rw.WriteHeader(http.StatusInternalServerError)
		}
	})
}
