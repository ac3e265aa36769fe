package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
)

// TestProgressAllowsMoreTries checks that a transfer with progress can be interrupted
// more often than a transfer without progress. A transfer with little progress must
// end.
func TestProgressAllowsMoreTries(t *testing.T) {
	t.Parallel()
	content := pattern()[:40*mebibyte]
	for name, test := range map[string]struct {
		gain     int // number of bytes per attempt
		requests int
		want     error
	}{
		"a lot each time":  {9 * mebibyte, 5, nil},
		"some each time":   {5 * mebibyte, 8, nil},
		"little each time": {mebibyte, 3, io.ErrUnexpectedEOF},
		"a byte each time": {1, 3, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			open := func(at int64) (io.ReadCloser, error) {
				requests++
				rest := content[at:]
				return io.NopCloser(bytes.NewReader(rest[:min(test.gain, len(rest))])), nil
			}
			body := &transfer.ResumedBody{End: int64(len(content)), Open: open, Pause: func(int, error) error { return nil }}
			n, err := io.Copy(&expected{rest: content}, body)
			if !errors.Is(err, test.want) || err == nil && n != int64(len(content)) || requests != test.requests {
				t.Errorf("got %d bytes, %v after %d requests; want %v after %d", n, err, requests, test.want, test.requests)
			}
			if again, same := body.Read(make([]byte, 9)); again != 0 || requests != test.requests || err != nil && !errors.Is(same, err) {
				t.Errorf("after the end: %d, %v", again, same)
			}
		})
	}
}

// TestCanceledPauseIsNotReported checks that a pause that is canceled is not reported
// as an interruption.
func TestCanceledPauseIsNotReported(t *testing.T) {
	t.Parallel()
	body := &transfer.ResumedBody{
		End: 9, Current: io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF)),
		Open:  func(int64) (io.ReadCloser, error) { t.Error("unexpected request"); return nil, io.EOF },
		Pause: func(int, error) error { return context.Canceled },
	}
	if _, err := io.ReadAll(body); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestBodyReturnsExcessBytes checks that bytes beyond the end are returned.
func TestBodyReturnsExcessBytes(t *testing.T) {
	t.Parallel()
	body := &transfer.ResumedBody{End: 3, Current: io.NopCloser(bytes.NewReader([]byte("12345")))}
	if got, err := io.ReadAll(body); string(got) != "12345" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	requested := transfer.Range{From: 10, End: 20, Size: 100}
	known := transfer.ValidatorOf(&http.Response{Header: http.Header{"Etag": {`"a"`}, "Last-Modified": {"yesterday"}}})
	for name, test := range map[string]struct {
		status int
		length int64
		header http.Header
		want   string // empty if the range is valid
	}{
		"the range":        {206, 10, http.Header{"Content-Range": {"bytes 10-19/100"}, "Etag": {`"a"`}}, ""},
		"unknown size":     {206, -1, http.Header{"Content-Range": {"bytes 10-19/*"}}, ""},
		"everything":       {200, 100, http.Header{}, "response does not match the requested range: got 200 OK, want bytes 10-19/100"},
		"no word of which": {206, 10, http.Header{}, `response does not match the requested range: got "", want bytes 10-19/100`},
		"another range":    {206, 10, http.Header{"Content-Range": {"bytes 0-9/100"}}, `response does not match the requested range: got "bytes 0-9/100", want bytes 10-19/100`},
		"another size":     {206, 10, http.Header{"Content-Range": {"bytes 10-19/99"}}, `response does not match the requested range: got "bytes 10-19/99", want bytes 10-19/100`},
		"another length":   {206, 9, http.Header{"Content-Range": {"bytes 10-19/100"}}, "response does not match the requested range: got 9 bytes, want bytes 10-19/100"},
		"another ETag":     {206, 10, http.Header{"Content-Range": {"bytes 10-19/100"}, "Etag": {`"b"`}}, `response does not match the requested range: got ETag "b", want bytes 10-19/100`},
	} {
		err := requested.Check(&http.Response{StatusCode: test.status, ContentLength: test.length, Header: test.header}, known)
		if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dated := transfer.ValidatorOf(&http.Response{Header: http.Header{"Last-Modified": {"yesterday"}}})
	answer := &http.Response{StatusCode: http.StatusPartialContent, ContentLength: 10, Header: http.Header{"Content-Range": {"bytes 10-19/100"}, "Last-Modified": {"today"}}}
	if err := requested.Check(answer, dated); err == nil {
		t.Error("another date passed")
	}
}

func TestIfRange(t *testing.T) {
	t.Parallel()
	changed := time.Date(2025, 2, 1, 3, 4, 5, 0, time.UTC)
	date, same, later := changed.Format(http.TimeFormat), changed.Format(http.TimeFormat), changed.Add(time.Second).Format(http.TimeFormat)
	for name, test := range map[string]struct {
		header http.Header
		want   string
	}{
		"nothing":            {http.Header{}, ""},
		"ETag":               {http.Header{"Etag": {`"a"`}, "Last-Modified": {date}, "Date": {later}}, `"a"`},
		"weak ETag":          {http.Header{"Etag": {`W/"a"`}, "Last-Modified": {date}, "Date": {later}}, ""},
		"no ETag at all":     {http.Header{"Etag": {"a"}}, ""},
		"date":               {http.Header{"Last-Modified": {date}, "Date": {later}}, date},
		"date of this time":  {http.Header{"Last-Modified": {date}, "Date": {same}}, ""},
		"date, and no clock": {http.Header{"Last-Modified": {date}}, ""},
		"no date at all":     {http.Header{"Last-Modified": {"yesterday"}, "Date": {later}}, ""},
	} {
		if got := transfer.ValidatorOf(&http.Response{Header: test.header}).IfRange(test.header); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
