package contexts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/chain"
)

// A flag counts more than the environment, that more than a context, that more than `solana config`, and that more than defaults.
func TestSettingsByPrecedence(t *testing.T) {
	dir := t.TempDir()
	solana := filepath.Join(dir, "solana.yml")
	require.NoError(t, os.WriteFile(solana, []byte("json_rpc_url: http://solana:1\nkeypair_path: /solana.json\n"), 0o600))
	t.Setenv("HOME", dir)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".config/solana/cli"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".config/solana/cli/config.yml"), []byte("json_rpc_url: http://found:1\nkeypair_path: /found.json\ncommitment: finalized\n"), 0o600))
	f := &File{path: "config.yaml", Contexts: map[string]Context{
		"one":   {RPC: []string{"http://one:1"}, WS: []string{"ws://one:9"}, Keypair: "/one.json", Server: "http://one:8484", Gateway: "G1", Sponsor: "https://one/sponsor"},
		"other": {RPC: []string{"http://other:1"}},
		"key":   {Keypair: "/key.json"},
	}}
	both := map[string]string{VariableRPC: "http://env:1, http://env:2", VariableKeypair: "/env.json", VariableServer: "http://env:8484", VariableGateway: "G2"}
	for _, c := range []struct {
		name                              string
		current                           string
		said                              Flags
		env                               map[string]string
		rpc, ws, keypair, server, gateway Value
	}{
		{
			name: "no context", rpc: Value{"", []string{"http://found:1"}, "solana config"}, ws: Value{"", []string{"ws://found:2"}, "solana config"},
			keypair: Value{"", []string{"/found.json"}, "solana config"}, server: Value{"", []string{DefaultServer}, "default"}, gateway: Value{"", []string{}, "default"},
		},
		{
			name: "a context", current: "one", rpc: Value{"", []string{"http://one:1"}, "context one"}, ws: Value{"", []string{"ws://one:9"}, "context one"},
			keypair: Value{"", []string{"/one.json"}, "context one"}, server: Value{"", []string{"http://one:8484"}, "context one"}, gateway: Value{"", []string{"G1"}, "context one"},
		},
		{
			name: "a context of some settings", current: "key", rpc: Value{"", []string{"http://found:1"}, "solana config"}, ws: Value{"", []string{"ws://found:2"}, "solana config"},
			keypair: Value{"", []string{"/key.json"}, "context key"}, server: Value{"", []string{DefaultServer}, "default"}, gateway: Value{"", []string{}, "default"},
		},
		{
			name: "the environment", current: "one", env: both, rpc: Value{"", []string{"http://env:1", "http://env:2"}, VariableRPC}, ws: Value{"", []string{}, "derived"},
			keypair: Value{"", []string{"/env.json"}, VariableKeypair}, server: Value{"", []string{"http://env:8484"}, VariableServer}, gateway: Value{"", []string{"G2"}, VariableGateway},
		},
		{
			name: "the environment names the context", current: "one", env: map[string]string{VariableContext: "other"}, rpc: Value{"", []string{"http://other:1"}, "context other"}, ws: Value{"", []string{}, "derived"},
			keypair: Value{"", []string{"/found.json"}, "solana config"}, server: Value{"", []string{DefaultServer}, "default"}, gateway: Value{"", []string{}, "default"},
		},
		{
			name: "a flag names the context", current: "one", said: Flags{Context: "other"}, env: both, rpc: Value{"", []string{"http://other:1"}, "context other (--context)"}, ws: Value{"", []string{}, "derived"},
			keypair: Value{"", []string{"/env.json"}, VariableKeypair}, server: Value{"", []string{"http://env:8484"}, VariableServer}, gateway: Value{"", []string{"G2"}, VariableGateway},
		},
		{
			name: "a WebSocket URL of the environment", env: map[string]string{VariableWS: "ws://env:2"}, rpc: Value{"", []string{"http://found:1"}, "solana config"}, ws: Value{"", []string{"ws://env:2"}, VariableWS},
			keypair: Value{"", []string{"/found.json"}, "solana config"}, server: Value{"", []string{DefaultServer}, "default"}, gateway: Value{"", []string{}, "default"},
		},
		{
			name: "a named file of solana config", current: "one", said: Flags{Config: solana}, env: both, rpc: Value{"", []string{"http://solana:1"}, solana}, ws: Value{"", []string{"ws://solana:2"}, solana},
			keypair: Value{"", []string{"/solana.json"}, solana}, server: Value{"", []string{"http://env:8484"}, VariableServer}, gateway: Value{"", []string{"G2"}, VariableGateway},
		},
		{
			name: "flags", current: "one", said: Flags{Context: "one", Config: solana, RPC: []string{"l"}, Keypair: "/flag.json", Server: "http://flag:1"}, env: both,
			rpc: Value{"", []string{"l"}, "flag"}, ws: Value{"", []string{}, "derived"}, keypair: Value{"", []string{"/flag.json"}, "flag"}, server: Value{"", []string{"http://flag:1"}, "flag"},
			gateway: Value{"", []string{"G1"}, "context one (--context)"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.Current = c.current
			s, err := Resolve(f, &c.said, func(name string) string { return c.env[name] })
			require.NoError(t, err)
			for setting, is := range map[string][2]Value{SettingRPC: {c.rpc, s.RPC}, SettingWS: {c.ws, s.WS}, SettingKeypair: {c.keypair, s.Keypair}, SettingServer: {c.server, s.Server}, SettingGateway: {c.gateway, s.Gateway}} {
				is[0].Setting = setting
				require.Equal(t, is[0], is[1])
			}
			require.Equal(t, s.Keypair.Text(), s.Solana.KeypairPath)
		})
	}
	for _, c := range []struct {
		said Flags
		env  map[string]string
		want Value
	}{
		{Flags{}, nil, Value{SettingSponsor, []string{}, "default"}},
		{Flags{}, map[string]string{VariableContext: "one"}, Value{SettingSponsor, []string{"https://one/sponsor"}, "context one"}},
		{Flags{}, map[string]string{VariableContext: "one", VariableSponsor: "https://env"}, Value{SettingSponsor, []string{"https://env"}, VariableSponsor}},
		{Flags{Sponsor: "https://flag"}, map[string]string{VariableSponsor: "https://env"}, Value{SettingSponsor, []string{"https://flag"}, "flag"}},
	} {
		f.Current = ""
		s, err := Resolve(f, &c.said, func(name string) string { return c.env[name] })
		require.NoError(t, err)
		require.Equal(t, c.want, s.Sponsor)
	}
	_, err := Resolve(f, &Flags{Context: "none"}, os.Getenv)
	require.ErrorIs(t, err, ErrUnknown)
	_, err = Resolve(f, &Flags{}, func(string) string { return "gone" })
	require.ErrorIs(t, err, ErrUnknown)
	require.ErrorContains(t, err, VariableContext)
	s, err := Resolve(f, &Flags{Commitment: "processed"}, func(string) string { return "" })
	require.NoError(t, err)
	require.Equal(t, chain.Processed, s.Solana.Commitment)
	require.Equal(t, "flag", s.Commitment.From)
}

func TestTheFileIsItsOwners(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	f, err := Load()
	require.NoError(t, err)
	require.ErrorIs(t, f.Use("dev"), ErrUnknown)
	require.ErrorIs(t, f.Set("a b", Context{}), ErrContext)
	require.ErrorIs(t, f.Set("dev", Context{RPC: []string{"nowhere"}}), ErrContext)
	require.NoFileExists(t, f.Path())
	require.NoError(t, f.Set("dev", Context{RPC: []string{"d", "http://two:1"}, WS: []string{"wss://one", "ws://two"}, Keypair: "id.json"}))
	require.NoError(t, f.Set("dev", Context{Server: "https://gantry.example"}), "the others stay")
	require.NoError(t, f.Set("local", Context{RPC: []string{"l"}}))
	require.NoError(t, f.Use("dev"))
	info, err := os.Stat(f.Path())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	read, err := Load()
	require.NoError(t, err)
	require.Equal(t, f, read)
	require.True(t, filepath.IsAbs(read.Contexts["dev"].Keypair), "a later command runs elsewhere")
	require.Len(t, read.Contexts["dev"].WS, 2)
	require.NoError(t, read.Set("dev", Context{RPC: []string{"http://three:1"}}))
	require.Empty(t, read.Contexts["dev"].WS, "those of other RPC URLs")
	require.Equal(t, []string{"*", "dev", "http://three:1"}, Rows(read.List())[0][:3])
	require.NoError(t, read.Delete("dev"))
	read, err = Load()
	require.NoError(t, err)
	require.Empty(t, read.Current)
	require.Equal(t, []string{"local"}, read.Names())
}

// A link to the file stays one: some keep their settings elsewhere.
func TestALinkedFileStaysLinked(t *testing.T) {
	dir := t.TempDir()
	link, kept := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "kept.yaml")
	require.NoError(t, os.WriteFile(kept, nil, 0o600))
	require.NoError(t, os.Symlink(kept, link))
	f, err := Read(link)
	require.NoError(t, err)
	require.NoError(t, f.Set("dev", Context{RPC: []string{"d"}}))
	raw, err := os.ReadFile(kept)
	require.NoError(t, err)
	require.Equal(t, "contexts:\n  dev:\n    rpc-url: d\n", string(raw))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
}

func TestAWrongFileNamesTheLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	for text, want := range map[string]string{
		"current: a\ncontexts: [\n":                                         "line ",
		"current: a\n\tcontexts:\n":                                         "line 2",
		"- a\n":                                                             "line 1: the file must be lines of the form NAME: VALUE",
		"currant: a\n":                                                      `line 1: "currant" is not known; the file has current and contexts`,
		"current: [a]\n":                                                    "line 1: current is the name of a context",
		"contexts:\n  dev: http://x\n":                                      "line 2: context dev must be lines of the form NAME: VALUE",
		"contexts:\n  a b:\n    server: x\n":                                `line 2: "a b" is not a name for a context`,
		"contexts:\n  dev:\n    kypair: x\n":                                `line 3: "kypair" is not a setting; there are rpc-url, ws-url, keypair, server, gateway`,
		"contexts:\n  dev:\n    keypair: {a: b}\n":                          "line 3: keypair is a text",
		"contexts:\n  dev:\n    keypair: [a, b]\n":                          "line 3: wrong setting: keypair is one value",
		"contexts:\n  dev:\n    keypair: a\n    rpc-url: ftp://x\n":         "line 4: rpc-url: ",
		"contexts:\n  dev:\n    rpc-url: d\n    ws-url: http://x\n":         `line 4: ws-url: wrong setting: "http://x" is not a URL that begins with ws:// or wss://`,
		"contexts:\n  dev:\n    rpc-url: d\n    ws-url: [ws://a, ws://b]\n": "line 4: wrong setting: 1 of rpc-url and 2 of ws-url",
		"contexts:\n  dev:\n    server: x\n":                                "line 3: server: ",
		"contexts:\n  dev:\n    sponsor: x\n":                               "line 3: sponsor: ",
		"contexts:\n  dev:\n    server: http://x\n  dev:\n":                 `line 4: "dev" stands twice`,
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Read(path)
		require.ErrorIs(t, err, ErrFile, text)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, path, text)
	}
	for _, text := range []string{"", "# nothing\n", "current:\ncontexts:\n", "contexts:\n  dev:\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Read(path)
		require.NoError(t, err, text)
	}
}
