package origintest

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Fault is a faulty handler. It replaces the honest handler and can call it.
type Fault func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc)

// Status responds with a status code and headers. The headers are pairs of names and
// values.
func Status(code int, headers ...string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		http.Error(w, "misbehaving on purpose", code)
	}
}

// HTML responds with status 200 and an HTML page, like a captive portal or login form.
func HTML(title string) Fault {
	return Document("text/html; charset=utf-8", "<!doctype html><html><head><title>"+title+"</title></head></html>")
}

// Document responds with status 200 and a document of the given content type.
func Document(contentType, text string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, text)
	}
}

// Oversized responds with status 200 and a JSON body of n spaces. It omits the
// Content-Length.
func Oversized(n int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.Header().Set("Content-Type", "application/json")
		block := strings.Repeat(" ", 64<<10)
		for sent := 0; sent < n; sent += len(block) {
			if _, err := fmt.Fprint(w, block); err != nil {
				return
			}
		}
	}
}

// Redirect redirects the client to a URL.
func Redirect(to string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		http.Redirect(w, r, to, http.StatusFound)
	}
}

// Hang never responds, even after the client has disconnected.
func Hang() Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// Reset resets the connection after n bytes of the honest response body. If possible,
// it uses a TCP reset. If n is 0, Reset sends no response.
func Reset(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		if n > 0 {
			honest(&altered{ResponseWriter: w, cut: n}, r)
			_ = http.NewResponseController(w).Flush()
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler) // resets the HTTP/2 stream
		}
		if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
			conn = secure.NetConn()
		}
		if tcp, ok := conn.(interface{ SetLinger(seconds int) error }); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
}

// Short sends the honest headers, but only n bytes of the body.
func Short(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(&altered{ResponseWriter: w, cut: n}, r)
	}
}

// FlipBit flips one bit in byte n (starting at 1) of the honest response.
func FlipBit(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(&altered{ResponseWriter: w, cut: -1, flip: n}, r)
	}
}

// Longer appends a byte to the honest response and adjusts the Content-Length.
func Longer() Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(&altered{ResponseWriter: w, cut: -1, more: 1}, r)
		_, _ = w.Write([]byte{0})
	}
}

// Stall sends the honest headers and n bytes of the body. It then waits until the
// client disconnects.
func Stall(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(&altered{ResponseWriter: w, cut: n}, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// Unsized sends the honest response without a Content-Length.
func Unsized() Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(&unsized{w}, r)
	}
}

type unsized struct{ http.ResponseWriter }

func (u *unsized) WriteHeader(code int) {
	u.Header().Del("Content-Length")
	u.ResponseWriter.WriteHeader(code)
	_ = http.NewResponseController(u.ResponseWriter).Flush() // without a flush, the server computes the length
}

// Unwrap allows a second fault to reset the connection.
func (u *unsized) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// IgnoreRange responds to a range request with the complete content.
func IgnoreRange() Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		whole := r.Clone(r.Context())
		whole.Header.Del("Range")
		honest(w, whole)
	}
}

// Rewrite sends the honest response and replaces some headers. The headers are pairs of
// names and values.
func Rewrite(headers ...string) Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(&rewritten{w, headers}, r)
	}
}

type rewritten struct {
	http.ResponseWriter
	headers []string
}

func (r *rewritten) WriteHeader(code int) {
	for i := 0; i+1 < len(r.headers); i += 2 {
		r.Header().Set(r.headers[i], r.headers[i+1])
	}
	r.ResponseWriter.WriteHeader(code)
}

// Shift responds to a request for n bytes at offset a with the n bytes before that
// offset. The Content-Range matches the sent bytes.
func Shift() Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		other := r.Clone(r.Context())
		var from, to int64
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err == nil && from > 0 {
			n := min(to-from+1, from)
			other.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from-n, from-1))
		}
		honest(w, other)
	}
}

// altered forwards a modified honest response.
type altered struct {
	http.ResponseWriter
	sent int64
	// cut is the number of bytes to forward. All later bytes are dropped. If cut is
	// negative, no bytes are dropped.
	cut int64
	// flip is the number of the byte, starting at 1, in which one bit is flipped.
	flip int64
	// more is added to the Content-Length.
	more int64
}

func (a *altered) WriteHeader(code int) {
	if n, err := strconv.ParseInt(a.Header().Get("Content-Length"), 10, 64); err == nil {
		a.Header().Set("Content-Length", strconv.FormatInt(n+a.more, 10))
	}
	a.ResponseWriter.WriteHeader(code)
}

// Write always reports success, so that the honest handler continues.
func (a *altered) Write(b []byte) (int, error) {
	out := b
	if a.cut >= 0 {
		out = out[:min(int64(len(out)), max(a.cut-a.sent, 0))]
	}
	if at := a.flip - 1 - a.sent; a.flip > 0 && at >= 0 && at < int64(len(out)) {
		out = append([]byte(nil), out...)
		out[at] ^= 1
	}
	a.sent += int64(len(b))
	if _, err := a.ResponseWriter.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}
