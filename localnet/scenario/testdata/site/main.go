// Command site is a job that serves HTTP at port 8080 and TLS, with a certificate of its own, at port 8443.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strconv"
)

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "v", Domain: "gw.test"})
		fmt.Fprintf(w, "the page of %s for %s\n", r.Host, r.Header.Get("X-Forwarded-For"))
	})
	mux.HandleFunc("/zeros/", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.ParseInt(r.URL.Path[len("/zeros/"):], 10, 64)
		_, _ = io.CopyN(w, zeros{}, n)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	mux.HandleFunc("/upgrade", func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n")
		_, _ = io.Copy(c, rw)
	})
	go func() { log.Fatal(http.ListenAndServe("127.0.0.1:8080", mux)) }()
	log.Fatal(http.ListenAndServeTLS("127.0.0.1:8443", "/cert.pem", "/key.pem", mux))
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
