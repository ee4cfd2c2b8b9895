package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
)

// job is a job whose output is given in pieces of a few bytes. A job that runs ends with its reader.
type job struct {
	output string
	piece  int
	runs   bool
	opened chan struct{} // nil, or one for every output that is opened
	closed chan struct{} // the same for those that are closed
}

func (j *job) Output(_ context.Context, lease solana.PublicKey) (Output, error) {
	if lease != (solana.PublicKey{7}) {
		return nil, &service.Failure{Code: service.CodeUsage, Reason: "the customer has no lease", Advice: "look", Cause: service.ErrNoLease}
	}
	if j.opened != nil {
		j.opened <- struct{}{}
	}
	return j, nil
}

func (j *job) Read(_ context.Context, offset uint64, take func(service.Output) error) (bool, error) {
	if offset > uint64(len(j.output)) {
		err := &service.RefusedByNode{Why: "no output at that offset"}
		return false, service.Network(err.Error(), "try again", err)
	}
	for at := int(offset); at < len(j.output); at += j.piece {
		if err := take(service.Output{Offset: uint64(at), Data: []byte(j.output[at:min(at+j.piece, len(j.output))])}); err != nil {
			return false, err
		}
	}
	return !j.runs, nil
}

func (j *job) Follow(ctx context.Context, offset uint64, take func(service.Output) error) error {
	ended, err := j.Read(ctx, offset, take)
	if err == nil && !ended {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (j *job) Close() {
	if j.closed != nil {
		j.closed <- struct{}{}
	}
}

// logsServer is a server on a port, and a function that asks it for logs.
func logsServer(t *testing.T, j *job) (*Server, func(query, last string) *http.Response) {
	t.Helper()
	store := testStore(t)
	token, err := store.NewToken()
	require.NoError(t, err)
	s := New(Options{Store: store, Outputs: j, Log: zerolog.Nop()})
	l := httptest.NewServer(s)
	t.Cleanup(l.Close)
	return s, func(query, last string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.URL+"/v1/leases/"+solana.PublicKey{7}.String()+"/logs"+query, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
}

// event is one of a stream.
type event struct{ kind, id, data string }

// nextEvent reads one; ok is false at the end of the stream.
func nextEvent(b *bufio.Reader) (e event, ok bool) {
	for {
		line, err := b.ReadString('\n')
		if err != nil {
			return e, false
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "event":
			e.kind = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if e.kind != "" {
				return e, true
			}
		}
	}
}

// A stream that breaks off after any event goes on behind it: no byte is missing and none comes twice, also where pieces
// cut characters.
func TestLogsResume(t *testing.T) {
	const output = "line 1\nÄ€😀 line 2\n\nend"
	for piece := 1; piece <= 5; piece++ {
		_, get := logsServer(t, &job{output: output, piece: piece})
		var text, last string
		for range len(output) + 2 {
			res := get("?follow=true", last)
			require.Equal(t, http.StatusOK, res.StatusCode)
			require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
			e, ok := nextEvent(bufio.NewReader(res.Body))
			require.NoError(t, res.Body.Close())
			require.True(t, ok)
			if e.kind == "end" {
				last = "end"
				break
			}
			require.Equal(t, "output", e.kind, e.data)
			var l LogEvent
			require.NoError(t, json.Unmarshal([]byte(e.data), &l))
			require.EqualValues(t, len(text), l.Offset)
			text += l.Text
			last = e.id
		}
		require.Equal(t, "end", last)
		require.Equal(t, output, text)
	}
}

func TestLogsTail(t *testing.T) {
	_, get := logsServer(t, &job{output: "0123456789", piece: 4, runs: true})
	for query, want := range map[string]Logs{
		"":                 {Offset: 0, Next: 10, Text: "0123456789"},
		"?tail=3":          {Offset: 7, Next: 10, Text: "789"},
		"?offset=8":        {Offset: 8, Next: 10, Text: "89"},
		"?offset=10":       {Offset: 10, Next: 10},
		"?offset=1&tail=5": {Offset: 5, Next: 10, Text: "56789"},
	} {
		res := get(query, "")
		require.Equal(t, http.StatusOK, res.StatusCode, query)
		var got Logs
		require.NoError(t, json.NewDecoder(res.Body).Decode(&got))
		want.Lease = solana.PublicKey{7}.String()
		require.Equal(t, want, got, query)
	}
	require.Equal(t, http.StatusUnprocessableEntity, get("?tail=0", "").StatusCode)
	require.Equal(t, http.StatusConflict, get("?offset=11", "").StatusCode, "the machine answers: it is no bad gateway")
	require.Equal(t, http.StatusUnprocessableEntity, get("?follow=true", "x").StatusCode)
	require.Equal(t, http.StatusUnprocessableEntity, get("?follow=true", "99999999999999999999").StatusCode)
}

// So many streams are open and no more; one that its client leaves makes room, and the server's end ends the others.
func TestLogStreamsAreBounded(t *testing.T) {
	j := &job{output: "x", piece: 1, runs: true, opened: make(chan struct{}, maxStreams+1), closed: make(chan struct{}, maxStreams+1)}
	s, get := logsServer(t, j)
	var all []*http.Response
	for range maxStreams {
		res := get("?follow=true", "")
		require.Equal(t, http.StatusOK, res.StatusCode)
		all = append(all, res)
		<-j.opened
	}
	res := get("?follow=true", "")
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	require.Equal(t, problemType, res.Header.Get("Content-Type"))
	require.NoError(t, all[0].Body.Close())
	<-j.closed
	require.Eventually(t, func() bool { return get("?follow=true", "").StatusCode == http.StatusOK }, 30*time.Second, 5*time.Millisecond)
	<-j.opened
	s.streams.end()
	for _, res := range all[1:] {
		_, err := io.Copy(io.Discard, res.Body)
		require.NoError(t, err)
	}
	require.Equal(t, http.StatusServiceUnavailable, get("?follow=true", "").StatusCode)
}
