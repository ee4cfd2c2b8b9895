//go:build e2e

package scenario

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// kube is a Kubernetes control plane: etcd, API server, scheduler and controller manager, the real ones, on loopback.
type kube struct {
	t                 *testing.T
	program, dir, url string
	admin             string
	client            *http.Client
}

// startKube starts a control plane. It skips where it was not built.
func startKube(t *testing.T) *kube {
	t.Helper()
	program, err := exec.LookPath("gantry-controlplane")
	if err != nil {
		t.Skip("SKIPPED: the control plane of Kubernetes is not built: scripts/toolchain.sh kubernetes, which takes long")
	}
	k := &kube{
		t: t, program: program, dir: filepath.Join(stateDir(t), "kubernetes"), url: "https://" + freeAddr(t), admin: "admin-of-a-test",
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}},
	}
	require.NoError(t, os.MkdirAll(k.dir, 0o700))
	k.keys()
	clients, peers := "http://"+freeAddr(t), "http://"+freeAddr(t)
	k.start("etcd", "--data-dir", k.path("etcd"), "--listen-client-urls", clients, "--advertise-client-urls", clients, "--listen-peer-urls", peers,
		"--initial-advertise-peer-urls", peers, "--initial-cluster", "default="+peers, "--unsafe-no-fsync")
	k.start("kube-apiserver", "--etcd-servers", clients, "--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1", "--secure-port", portOf(strings.TrimPrefix(k.url, "https://")),
		"--cert-dir", k.path("apiserver"), "--endpoint-reconciler-type", "none", "--service-cluster-ip-range", "10.96.0.0/24", "--authorization-mode", "RBAC",
		"--token-auth-file", k.path("tokens.csv"), "--client-ca-file", k.path("ca.crt"), "--kubelet-client-certificate", k.path("client.crt"), "--kubelet-client-key", k.path("client.key"),
		"--kubelet-preferred-address-types", "InternalIP", "--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", k.path("accounts.key"),
		"--service-account-signing-key-file", k.path("accounts.key"), "--allow-privileged") // as clusters have it: agents need it
	require.Eventually(t, func() bool {
		status, _, err := k.ask(http.MethodGet, "/readyz", nil)
		return err == nil && status == http.StatusOK
	}, 3*time.Minute, 500*time.Millisecond, "the API server is not ready: see %s", k.path("kube-apiserver.log"))
	config := k.kubeconfig("admin", k.admin)
	k.start("kube-scheduler", "--kubeconfig", config, "--leader-elect=false", "--secure-port", "0", "--authentication-skip-lookup")
	k.start("kube-controller-manager", "--kubeconfig", config, "--leader-elect=false", "--secure-port", "0", "--service-account-private-key-file", k.path("accounts.key"))
	return k
}

func (k *kube) path(name string) string { return filepath.Join(k.dir, name) }

// start runs a part of the control plane until the test ends.
func (k *kube) start(part string, args ...string) {
	k.t.Helper()
	run(k.t, k.path(part+".log"), k.program, append([]string{part}, args...)...)
}

// run starts a program, and returns how to kill it; it is killed at the end of the test.
func run(t *testing.T, log, program string, args ...string) (kill func()) {
	t.Helper()
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(t, err)
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), "no_proxy=*", "NO_PROXY=*")
	require.NoError(t, cmd.Start())
	ended := false
	kill = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			_ = out.Close()
		}
	}
	t.Cleanup(kill)
	return kill
}

// keys writes what the parts identify each other by.
func (k *kube) keys() {
	t := k.t
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	ca, err := x509.CreateCertificate(rand.Reader, authority, authority, caKey.Public(), caKey)
	require.NoError(t, err)
	clientKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	client, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver-kubelet-client", Organization: []string{"system:masters"}},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority, clientKey.Public(), caKey)
	require.NoError(t, err)
	accounts, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	ec, err := x509.MarshalECPrivateKey(clientKey)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{
		"ca.crt": {Type: "CERTIFICATE", Bytes: ca}, "client.crt": {Type: "CERTIFICATE", Bytes: client}, "client.key": {Type: "EC PRIVATE KEY", Bytes: ec},
		"accounts.key": {Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(accounts)},
	} {
		require.NoError(t, os.WriteFile(k.path(name), pem.EncodeToMemory(block), 0o600))
	}
	require.NoError(t, os.WriteFile(k.path("tokens.csv"), []byte(k.admin+",admin,admin,system:masters\n"), 0o600))
}

// kubeconfig is a file for somebody with a token.
func (k *kube) kubeconfig(who, token string) string {
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "x",
		"clusters": []any{map[string]any{"name": "x", "cluster": map[string]any{"server": k.url, "insecure-skip-tls-verify": true}}},
		"users":    []any{map[string]any{"name": "x", "user": map[string]any{"token": token}}},
		"contexts": []any{map[string]any{"name": "x", "context": map[string]any{"cluster": "x", "user": "x"}}},
	})
	require.NoError(k.t, err)
	path := k.path(who + ".kubeconfig")
	require.NoError(k.t, os.WriteFile(path, raw, 0o600))
	return path
}

// ask is a request of the administrator.
func (k *kube) ask(method, path string, body any) (int, []byte, error) {
	return k.askAt(k.url, method, path, body)
}

// askAt asks the API server or the node.
func (k *kube) askAt(url, method, path string, body any) (int, []byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequestWithContext(k.t.Context(), method, url+path, bytes.NewReader(raw))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+k.admin)
	req.Header.Set("Content-Type", "application/json")
	resp, err := k.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// get reads an object; false where there is none.
func (k *kube) get(path string, out any) bool {
	k.t.Helper()
	status, raw, err := k.ask(http.MethodGet, path, nil)
	require.NoError(k.t, err)
	if status == http.StatusNotFound {
		return false
	}
	require.Equal(k.t, http.StatusOK, status, "%s", raw)
	require.NoError(k.t, json.Unmarshal(raw, out))
	return true
}

// collections are where objects of a kind are made.
var collections = map[string]string{
	"Namespace": "/api/v1/namespaces", "ServiceAccount": "/api/v1/namespaces/NS/serviceaccounts", "Secret": "/api/v1/namespaces/NS/secrets", "Pod": "/api/v1/namespaces/NS/pods",
	"PersistentVolumeClaim": "/api/v1/namespaces/NS/persistentvolumeclaims", "Job": "/apis/batch/v1/namespaces/NS/jobs", "Deployment": "/apis/apps/v1/namespaces/NS/deployments",
	"DaemonSet":   "/apis/apps/v1/namespaces/NS/daemonsets",
	"ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles", "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
}

// apply makes the objects of a manifest. The test's manifests name their objects once.
func (k *kube) apply(manifest, query string) {
	k.t.Helper()
	documents := yaml.NewDecoder(strings.NewReader(manifest))
	for {
		var object map[string]any
		err := documents.Decode(&object)
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(k.t, err)
		namespace := "default"
		if ns, ok := object["metadata"].(map[string]any)["namespace"].(string); ok {
			namespace = ns
		}
		path := strings.ReplaceAll(collections[fmt.Sprint(object["kind"])], "NS", namespace)
		require.NotEmpty(k.t, path, "%v", object["kind"])
		// The account that all pods of a namespace have is made by a controller, a moment later.
		require.Eventually(k.t, func() bool {
			status, raw, err := k.ask(http.MethodPost, path+query, object)
			require.NoError(k.t, err)
			if status == http.StatusForbidden && strings.Contains(string(raw), "serviceaccount") {
				return false
			}
			require.Equal(k.t, http.StatusCreated, status, "%s", raw)
			return true
		}, time.Minute, 500*time.Millisecond)
	}
}

// token is one of a service account.
func (k *kube) token(namespace, account string) string {
	k.t.Helper()
	status, raw, err := k.ask(http.MethodPost, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+account+"/token",
		map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": map[string]any{"expirationSeconds": 7200}})
	require.NoError(k.t, err)
	require.Equal(k.t, http.StatusCreated, status, "%s", raw)
	var out struct{ Status struct{ Token string } }
	require.NoError(k.t, json.Unmarshal(raw, &out))
	return out.Status.Token
}
