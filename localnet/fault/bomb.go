package fault

import (
	"bytes"
	"compress/gzip"
	"net/http"
)

// bombSize is how many MiB a bomb has.
const bombSize = 256

// bomb answers with a text that is a thousand times as long as what is sent: members of a gzip stream.
func bomb(w http.ResponseWriter, req request) {
	member := func(text []byte) []byte {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		_, _ = z.Write(text) // to memory
		_ = z.Close()
		return out.Bytes()
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	_, _ = w.Write(member([]byte(`{"jsonrpc":"2.0","more":"`)))
	filler := member(bytes.Repeat([]byte{'x'}, 1<<20))
	for range bombSize {
		if _, err := w.Write(filler); err != nil {
			return // who was asked for it has gone
		}
	}
	_, _ = w.Write(member([]byte(`","id":` + string(req.ID) + `,"result":5}`)))
}
