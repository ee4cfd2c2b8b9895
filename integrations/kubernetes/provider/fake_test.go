package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	events "k8s.io/client-go/tools/record"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
	"github.com/gantry-market/gantry/integrations/kubernetes/podspec"
)

const testToken = "secret"

// server is a gantry serve that a test decides for.
type server struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	asked    int                             // orders that came
	bought   map[string]string               // leases by the key of their purchase
	orders   map[string]*market.OrderRequest // by key
	leases   map[string]*market.Lease
	jobs     map[string]*market.Job
	output   map[string]string
	uses     map[string]*market.Use
	refuse   func(key string) *market.Problem // of an order; nil for none
	endpoint string                           // where ports of containers are
	slow     bool                             // orders wait for a machine
	down     bool
}

func newServer(t *testing.T) *server {
	s := &server{
		t: t, bought: map[string]string{}, orders: map[string]*market.OrderRequest{}, leases: map[string]*market.Lease{}, jobs: map[string]*market.Job{}, output: map[string]string{}, uses: map[string]*market.Use{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/orders", s.order)
	mux.HandleFunc("GET /v1/leases/{id}", func(w http.ResponseWriter, r *http.Request) { answer(w, s.leases[r.PathValue("id")]) })
	mux.HandleFunc("GET /v1/leases/{id}/job", func(w http.ResponseWriter, r *http.Request) { answer(w, s.jobs[r.PathValue("id")]) })
	mux.HandleFunc("GET /v1/leases/{id}/logs", s.logs)
	mux.HandleFunc("POST /v1/leases/{id}/stop", func(w http.ResponseWriter, r *http.Request) {
		l := s.leases[r.PathValue("id")]
		if l != nil && !l.Over() {
			l.Status, l.EndReason = "ended", market.EndedByCustomer
		}
		answer(w, l)
	})
	mux.HandleFunc("POST /v1/leases/{id}/forwards", func(w http.ResponseWriter, _ *http.Request) { answer(w, &map[string]string{"endpoint": s.endpoint}) })
	mux.HandleFunc("GET /page/leases/{id}/use", func(w http.ResponseWriter, r *http.Request) {
		raw, _ := json.Marshal(s.uses[r.PathValue("id")])
		if string(raw) == "null" {
			fmt.Fprint(w, "event: past\ndata: {\"samples\": []}\n\nevent: problem\ndata: {\"detail\": \"the machine is gone\"}\n\n")
			return
		}
		fmt.Fprintf(w, "event: past\ndata: {\"samples\": []}\n\nevent: use\ndata: %s\n\n", raw)
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { answer(w, &struct{}{}) })
	mux.HandleFunc("GET /v1/offers", func(w http.ResponseWriter, r *http.Request) {
		answer(w, &map[string]any{"offers": []market.Offer{{FreeGPUs: 3, CPUCores: 16, RAMMiB: 1024, DiskGiB: 10}, {FreeGPUs: 1}}, "asked": r.URL.Query().Get("q")})
	})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/exec") {
			s.exec(w, r)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != "Bearer "+testToken:
			refuse(w, &market.Problem{Status: http.StatusUnauthorized, Detail: "no token"})
		case s.down:
			refuse(w, &market.Problem{Status: http.StatusBadGateway, Detail: "the cluster does not answer"})
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// exec runs a command on this machine.
func (s *server) exec(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"gantry.exec"}})
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	var first struct {
		Command []string
		Stdin   bool
	}
	if wsjson.Read(r.Context(), conn, &first) != nil {
		return
	}
	var in bytes.Buffer
	for first.Stdin {
		kind, raw, err := conn.Read(r.Context())
		if err != nil || kind == websocket.MessageText {
			break
		}
		in.Write(raw)
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(r.Context(), first.Command[0], first.Command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &errs
	err = cmd.Run()
	_ = conn.Write(r.Context(), websocket.MessageBinary, append([]byte{1}, out.Bytes()...))
	_ = conn.Write(r.Context(), websocket.MessageBinary, append([]byte{2}, errs.Bytes()...))
	if cmd.ProcessState == nil {
		_ = wsjson.Write(r.Context(), conn, map[string]any{"ended": true, "problem": map[string]any{"detail": err.Error()}})
		return
	}
	_ = wsjson.Write(r.Context(), conn, map[string]any{"ended": true, "exitCode": cmd.ProcessState.ExitCode()})
}

func answer[T any](w http.ResponseWriter, v *T) {
	if v == nil {
		refuse(w, &market.Problem{Status: http.StatusNotFound, Detail: "there is no such lease"})
		return
	}
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, p *market.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

func (s *server) order(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	s.asked++
	if s.refuse != nil {
		if p := s.refuse(key); p != nil {
			refuse(w, p)
			return
		}
	}
	var o market.OrderRequest
	_ = json.NewDecoder(r.Body).Decode(&o)
	if s.slow {
		w.WriteHeader(http.StatusAccepted)
		answer(w, &market.Order{Phase: "buying"})
		return
	}
	lease, is := s.bought[key]
	if !is {
		lease = fmt.Sprintf("lease-%d", len(s.bought)+1)
		s.bought[key], s.orders[key] = lease, &o
		s.leases[lease] = &market.Lease{Address: lease, Node: "machine", Status: market.StatusRunning, GPUs: o.Count, Model: o.GPU, Price: "1.26", Cost: "0.25"}
		s.jobs[lease] = &market.Job{State: market.JobRunning, StartedAt: time.Now().Unix()}
	}
	answer(w, &market.Order{Phase: "bought", Leases: []market.Lease{*s.leases[lease]}})
}

func (s *server) logs(w http.ResponseWriter, r *http.Request) {
	text := s.output[r.PathValue("id")]
	if r.URL.Query().Get("follow") == "" {
		answer(w, &market.Output{Text: text, Next: uint64(len(text))})
		return
	}
	fmt.Fprintf(w, "event: output\nid: 9\ndata: {\"offset\": %d, \"text\": \"later\\n\"}\n\n: beat\n\nevent: end\ndata: {}\n\n", len(text))
}

// change changes the server as a test says.
func (s *server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// exits ends the job of a lease with an exit code.
func (s *server) exits(lease string, code int32, detail string) {
	s.change(func() {
		s.leases[lease].Status, s.leases[lease].EndReason = "ended", market.EndedJobDone
		s.jobs[lease].State, s.jobs[lease].ExitCode, s.jobs[lease].Detail = "exited", &code, detail
	})
}

// world is a provider with what virtual-kubelet would do for it.
type world struct {
	*Provider
	t       *testing.T
	server  *server
	dir     string
	events  *events.FakeRecorder
	index   cache.Indexer
	secrets cache.Indexer
	end     func()

	mu   sync.Mutex
	told map[types.UID]*corev1.Pod
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, server: newServer(t), dir: t.TempDir(), index: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		secrets: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		told:    map[types.UID]*corev1.Pod{},
	}
	w.start()
	t.Cleanup(func() { w.end() })
	return w
}

// start starts the provider, also a further time with the same folder.
func (w *world) start() {
	w.t.Helper()
	client, err := market.New(w.server.URL, testToken, nil)
	require.NoError(w.t, err)
	w.events = events.NewFakeRecorder(1000)
	w.Provider, err = New(Options{
		Market: client, Dir: w.dir, Poll: 5 * time.Millisecond, RetryLeast: 5 * time.Millisecond, RetryMost: 20 * time.Millisecond, Recorder: w.events, Log: zerolog.Nop(),
		Defaults: podspec.Defaults{GPU: "any", Budget: "10", Seconds: 600},
	})
	require.NoError(w.t, err)
	w.end = w.Start(w.t.Context(), corev1listers.NewPodLister(w.index), corev1listers.NewSecretLister(w.secrets))
	w.NotifyPods(w.t.Context(), func(p *corev1.Pod) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told[p.UID] = p.DeepCopy()
	})
}

func (w *world) create(pod *corev1.Pod) *corev1.Pod {
	w.t.Helper()
	require.NoError(w.t, w.index.Add(pod))
	require.NoError(w.t, w.CreatePod(w.t.Context(), pod))
	return pod
}

// status is what virtual-kubelet was told last.
func (w *world) status(pod *corev1.Pod) corev1.PodStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.told[pod.UID]; p != nil {
		return p.Status
	}
	return corev1.PodStatus{}
}

// until waits for a status.
func (w *world) until(pod *corev1.Pod, what string, is func(corev1.PodStatus) bool) corev1.PodStatus {
	w.t.Helper()
	require.Eventually(w.t, func() bool { return is(w.status(pod)) }, time.Minute, time.Millisecond, "%s: %+v", what, w.status(pod))
	return w.status(pod)
}

func phase(p corev1.PodPhase) func(corev1.PodStatus) bool {
	return func(s corev1.PodStatus) bool { return s.Phase == p }
}

func running(s corev1.PodStatus) bool {
	return len(s.ContainerStatuses) == 1 && s.ContainerStatuses[0].State.Running != nil
}

func waiting(reason string) func(corev1.PodStatus) bool {
	return func(s corev1.PodStatus) bool {
		return len(s.ContainerStatuses) == 1 && s.ContainerStatuses[0].State.Waiting != nil && s.ContainerStatuses[0].State.Waiting.Reason == reason
	}
}

// saw reports whether an event has the words.
func (w *world) saw(words string) bool {
	for {
		select {
		case e := <-w.events.Events:
			if strings.Contains(e, words) {
				return true
			}
		default:
			return false
		}
	}
}

func gpuPod(name string, restart corev1.RestartPolicy) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)},
		Spec: corev1.PodSpec{RestartPolicy: restart, Containers: []corev1.Container{{
			Name: "main", Image: "example.org/job:1", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{podspec.GPUs: resource.MustParse("1")}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}
