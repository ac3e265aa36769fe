package outcome

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// defaultTimeout is the maximum time for sending a notification, including retries.
	defaultTimeout = 30 * time.Second
	// maxResponse is the maximum number of bytes that are read from a response.
	maxResponse = 4 << 10
	// maxText is the maximum number of characters in a message. Slack truncates
	// messages that are longer than 40,000 characters:
	// https://docs.slack.dev/reference/methods/chat.postMessage#truncating
	maxText = 12_000
)

// Formats of notifications.
const (
	// Slack is the format of Slack and of programs with compatible webhooks: an object
	// with the key "text".
	Slack = "slack"
	// JSON is an object with the keys "text" and "summary".
	JSON = "json"
)

// Webhook is a receiver of notifications. Its URL is a secret, because most webhooks
// require no other credentials. Therefore, errors contain only the name of the
// environment variable.
type Webhook struct {
	variable string
	url      text.Secret
	format   string
	timeout  time.Duration
}

// NewWebhook returns the webhook whose URL is the value of an environment variable. It
// returns an error if the value is not an HTTPS URL.
func NewWebhook(variable, value, format string) (Webhook, error) {
	if value == "" {
		return Webhook{}, provider.Errorf(provider.Misuse, "the environment variable %s is not set; it must contain the URL of the webhook", variable)
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return Webhook{}, provider.Errorf(provider.Misuse, "the environment variable %s does not contain an https:// URL", variable)
	}
	return Webhook{variable: variable, url: text.NewSecret(value), format: format, timeout: defaultTimeout}, nil
}

// SendOptions configures [Webhook.Send].
type SendOptions struct {
	// CAFile is the path of a PEM file. Its certificates are trusted in addition to the
	// system's certificates.
	CAFile    string
	UserAgent string
}

// Send sends a message. In the [JSON] format, it also sends a summary. It does not
// follow redirects, because a redirect would send the message to another server.
func (w Webhook) Send(ctx context.Context, message string, summary any, o SendOptions) error {
	body, err := w.body(message, summary)
	if err == nil {
		err = w.post(ctx, body, o)
	}
	if err == nil {
		return nil
	}
	hidden := text.Secrets{w.url.Reveal()}
	if u, failed := url.Parse(w.url.Reveal()); failed == nil {
		hidden = append(hidden, u.RequestURI(), u.EscapedPath())
	}
	return provider.Errorf(provider.KindOf(err), "sending a notification to the URL in %s: %w", w.variable, hidden.Error(err))
}

// post sends a request. Its client does not log requests, because their URL is a
// secret.
func (w Webhook) post(ctx context.Context, body []byte, o SendOptions) error {
	client, err := httpclient.New(httpclient.Options{Timeout: w.timeout, CAFile: o.CAFile, UserAgent: o.UserAgent})
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url.Reveal(), bytes.NewReader(body))
	if err != nil {
		return errors.New("invalid URL")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // removes the URL
		}
		if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
			return provider.Errorf(provider.Transient, "no response within %s", w.timeout)
		}
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxResponse)) // used only in the error message
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode <= 299:
		return nil
	case resp.StatusCode >= 300 && resp.StatusCode <= 399:
		return provider.Errorf(provider.Refused, "unexpected redirect (status %d)", resp.StatusCode)
	}
	excerpt := httpclient.Excerpt(resp.Header.Get("Content-Type"), answer, text.Secrets{w.url.Reveal()})
	return provider.Errorf(provider.Refused, "%s", strings.TrimSuffix(resp.Status+": "+excerpt, ": "))
}

// body returns the message in the webhook's format.
func (w Webhook) body(message string, summary any) ([]byte, error) {
	if runes := []rune(message); len(runes) > maxText {
		message = string(runes[:maxText]) + "…"
	}
	if w.format == JSON {
		return json.Marshal(struct {
			Text    string `json:"text"`
			Summary any    `json:"summary"`
		}{message, summary})
	}
	// Slack interprets these characters, for example in <!channel>:
	// https://docs.slack.dev/messaging/formatting-message-text#escaping
	escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(message)
	return json.Marshal(map[string]string{"text": escaped})
}
