package origintest

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Fault is a way to misbehave. It answers instead of the honest handler, and
// may ask that one.
type Fault func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc)

// Status answers with a code and, in pairs of name and value, headers.
func Status(code int, headers ...string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		http.Error(w, "misbehaving on purpose", code)
	}
}

// HTML answers 200 with a page, as captive portals and login forms do.
func HTML(title string) Fault {
	return Document("text/html; charset=utf-8", "<!doctype html><html><head><title>"+title+"</title></head></html>")
}

// Document answers 200 with a text of a content type.
func Document(contentType, text string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, text)
	}
}

// Oversized answers 200 with n spaces of JSON, without saying so in advance.
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

// Redirect sends the client to a URL.
func Redirect(to string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		http.Redirect(w, r, to, http.StatusFound)
	}
}

// Hang answers nothing, also when the client leaves.
func Hang() Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// Reset breaks the connection after n bytes of the honest answer's body, by TCP
// reset where it can; n = 0 means before any answer.
func Reset(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		if n > 0 {
			honest(&altered{ResponseWriter: w, cut: n}, r)
			_ = http.NewResponseController(w).Flush()
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler) // HTTP/2 resets the stream
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

// Short promises the honest answer's length, sends n bytes, and ends.
func Short(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(&altered{ResponseWriter: w, cut: n}, r)
	}
}

// FlipBit sends the honest answer with one bit of byte n (from 1) wrong.
func FlipBit(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(&altered{ResponseWriter: w, cut: -1, flip: n}, r)
	}
}

// Longer sends the honest answer and one more byte, with the length to match.
func Longer() Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(&altered{ResponseWriter: w, cut: -1, more: 1}, r)
		_, _ = w.Write([]byte{0})
	}
}

// Stall promises the honest answer's length, sends n bytes, and then nothing
// until the client leaves.
func Stall(n int64) Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(&altered{ResponseWriter: w, cut: n}, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// Unsized sends the honest answer without its length.
func Unsized() Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(&unsized{w}, r)
	}
}

type unsized struct{ http.ResponseWriter }

func (u *unsized) WriteHeader(code int) {
	u.Header().Del("Content-Length")
	u.ResponseWriter.WriteHeader(code)
	_ = http.NewResponseController(u.ResponseWriter).Flush() // else the server finds out
}

// Unwrap lets another fault break the connection.
func (u *unsized) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// IgnoreRange answers a request for a part with all there is.
func IgnoreRange() Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		whole := r.Clone(r.Context())
		whole.Header.Del("Range")
		honest(w, whole)
	}
}

// Rewrite sends the honest answer with headers of other values, given in pairs of
// name and value.
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

// Shift answers a request for a part of n bytes from a with the n bytes before
// that, and says so.
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

// altered passes an honest answer on with something wrong.
type altered struct {
	http.ResponseWriter
	sent int64
	// cut drops everything after so many bytes; negative: nothing.
	cut int64
	// flip is the byte, from 1, of which a bit is flipped.
	flip int64
	// more is added to the promised length.
	more int64
}

func (a *altered) WriteHeader(code int) {
	if n, err := strconv.ParseInt(a.Header().Get("Content-Length"), 10, 64); err == nil {
		a.Header().Set("Content-Length", strconv.FormatInt(n+a.more, 10))
	}
	a.ResponseWriter.WriteHeader(code)
}

// Write claims that all was written, so that the honest side goes on.
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
