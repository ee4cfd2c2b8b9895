package rent

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/attestation"
	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/expose"
	"github.com/gantry-market/gantry/client/mcp"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/internal/arguments"
	"github.com/gantry-market/gantry/internal/contexts"
	"github.com/gantry-market/gantry/sdk/market"
)

// notInJSON are the fields of a purchase that the HTTP API and the tools of language models lack, and why.
var notInJSON = map[string]string{
	"Name":           "their idempotency key is the name",
	"Rerun":          "the comparison of two runs needs somebody who waits for both",
	"Detach":         "purchases of a server are detached",
	"ReceiptEvery":   "purchases of a server are detached: keepers' reports settle them",
	"Backup":         "a setting of the server: the bucket's credentials are its own",
	"BackupEndpoint": "as Backup",
	"BackupEvery":    "as Backup",
	"Restore":        "as Backup",
	"Health":         "the template says it",
}

// flagsOf are command lines of deploy that set one field of a purchase each, and the field's value.
var flagsOf = map[string]struct {
	args []string
	want any
}{
	"GPU": {[]string{"--gpu=H100"}, "H100"}, "Count": {[]string{"--count=2"}, uint8(2)}, "Nodes": {[]string{"--nodes=3"}, uint8(3)},
	"MinNodes": {[]string{"--nodes=3", "--min-nodes=2"}, uint8(2)},
	"Region":   {[]string{"--region=us"}, "us"}, "MaxPrice": {[]string{"--max-price=2.5"}, "2.5"}, "Seconds": {[]string{"--minutes=2"}, uint32(120)},
	"Image": {[]string{"--image=debian:12"}, "debian:12"}, "Command": {[]string{"--", "sleep", "1"}, []string{"sleep", "1"}},
	"Entrypoint": {[]string{"--image=x", "--entrypoint=/bin/sh"}, "/bin/sh"}, "User": {[]string{"--image=x", "--user=1000:100"}, "1000:100"},
	"Env": {[]string{"--env=A=b"}, map[string]string{"A": "b"}}, "Network": {[]string{"--image=x", "--network=none"}, "none"},
	"Volume": {[]string{"--image=x", "--volume=data:1GiB"}, "data:1GiB"}, "MinMemory": {[]string{"--min-vram=40"}, uint(40)},
	"Keep":            {[]string{"--image=x", "--volume=data", "--keep"}, true},
	"RunToCompletion": {[]string{"--job"}, true}, "AllowSimulated": {[]string{"--allow-simulated"}, true}, "Inspect": {[]string{"--inspect=always"}, "always"},
	"Compute":   {[]string{"--compute-capability=8.9"}, "8.9"},
	"MinTFLOPS": {[]string{"--min-tflops=312"}, uint32(312)},
	"MinTOPS":   {[]string{"--min-tops=1.5"}, "1.5"}, "MinBandwidth": {[]string{"--min-bandwidth=900"}, "900"},
	"MinDown": {[]string{"--min-down=100"}, uint32(100)}, "MinUp": {[]string{"--min-up=50"}, uint32(50)},
	"MinUptime": {[]string{"--min-uptime=99"}, "99"}, "MinReputation": {[]string{"--min-reputation=90"}, "90"}, "MinTier": {[]string{"--min-tier=2"}, uint8(2)},
	"Link": {[]string{"--link=nvlink"}, "nvlink"}, "Guaranteed": {[]string{"--guaranteed"}, true}, "SameSite": {[]string{"--same-site"}, true}, "Spot": {[]string{"--spot"}, true}, "Retry": {[]string{"--retry"}, true},
	"Memory": {[]string{"--memory=512m"}, uint64(512)}, "CPUs": {[]string{"--cpus=4"}, uint32(4)}, "Disk": {[]string{"--disk=1g"}, uint64(1024)}, "CUDA": {[]string{"--cuda=12.8"}, "12.8"},
	"Redundancy": {[]string{"--redundancy=3"}, uint8(3)}, "Sealed": {[]string{"--sealed"}, true},
	"AuctionSecs": {[]string{"--sealed", "--auction-secs=60"}, uint32(60)}, "RevealSecs": {[]string{"--sealed", "--reveal-secs=20"}, uint32(20)},
	"Attest": {[]string{"--attest=testdata/policy.json"}, nil}, "Verify": {[]string{"--verify=never"}, "never"}, "Name": {[]string{"--name=train"}, "train"},
	"Rerun": {[]string{"--rerun=So11111111111111111111111111111111111111112"}, "So11111111111111111111111111111111111111112"}, "Migrate": {[]string{"--migrate"}, true},
	"Detach": {[]string{"--detach"}, true}, "ReceiptEvery": {[]string{"--receipt-every=9s"}, nine}, "Registry": {[]string{"--registry-credentials=token"}, "token"},
	"RegistryUser": {[]string{"--image=x", "--registry-user=me", "--registry-password=secret"}, "me"}, "RegistryPass": {[]string{"--image=x", "--registry-user=me", "--registry-password=secret"}, "secret"},
	"Backup":         {[]string{"--image=x", "--volume=d:1GiB", "--backup=s3://b/f"}, "s3://b/f"},
	"BackupEndpoint": {[]string{"--image=x", "--volume=d:1GiB", "--backup=s3://b/f", "--backup-endpoint=http://s3"}, "http://s3"},
	"BackupEvery":    {[]string{"--image=x", "--volume=d:1GiB", "--backup=s3://b/f", "--backup-every=9s"}, nine},
	"Shm":            {[]string{"--image=x", "--shm-size=16g"}, uint64(16384)},
	"Restore":        {[]string{"--backup=s3://b/f", "--restore=" + strings.Repeat("ab", 32)}, strings.Repeat("ab", 32)},
	"UntilStopped":   {[]string{"--until-stopped"}, true},
	"Budget":         {[]string{"--until-stopped", "--budget=5"}, "5"},
	"Unrecorded":     {[]string{"--image=x", "--unrecorded"}, true},
	"Guest":          {[]string{"--image=x", "--guest", "--attest=testdata/guest.json"}, true},
	"SSHKeys":        {[]string{"--image=x"}, nil}, // gantry's own at least
	"Ports":          {[]string{"--template=vllm"}, nil},
	"Health":         {[]string{"--template=vllm"}, nil},
	"Gateway":        {[]string{"--image=x", "--port=80", "--via=" + aGateway}, aGateway},
	"Public":         {[]string{"--image=x", "--port=80:web", "--port=8443:9000", "--via=" + aGateway}, []template.Port{{Name: "web", Port: 80}, {Name: "8443", Port: 8443}}},
}

const aGateway = "So11111111111111111111111111111111111111112"

const nine = 9_000_000_000 // as a time.Duration

// Each field of a purchase has a flag, and is in the order of the HTTP API, in the tool of language models, and on the
// page, or there is a reason why not. The Python and the TypeScript client are typed by the API's document, and take
// each field of its order.
func TestEveryInterfaceHasEveryFieldOfAPurchase(t *testing.T) {
	api, tool, page := propertiesOf(t, "OrderRequest"), deploySchema(t), onPage(t)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[buy.Request]()) {
		if f.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if why := notInJSON[f.Name]; why != "" {
			require.Equal(t, "-", name, "%s is in JSON: remove the exception", f.Name)
		} else {
			require.Contains(t, api, name, "the HTTP order lacks %s", f.Name)
			require.True(t, tool[name], "the tool lacks %s", f.Name)
			require.True(t, page[name], "the page lacks %s", f.Name)
			require.NotEmpty(t, f.Tag.Get("doc"), f.Name)
			require.NotEmpty(t, f.Tag.Get("jsonschema"), f.Name)
		}
		set, ok := flagsOf[f.Name]
		require.True(t, ok, "no flag sets %s: give deploy one", f.Name)
		r := requestOf(t, set.args...)
		got := reflect.ValueOf(r).FieldByIndex(f.Index)
		if set.want == nil {
			require.False(t, got.IsZero(), f.Name)
			continue
		}
		require.Equal(t, reflect.ValueOf(set.want).Convert(f.Type).Interface(), got.Interface(), f.Name)
	}
}

// newApp is a command line with the customer's commands, which prints nothing.
func newApp() *cli.App {
	s := command.Streams{Out: io.Discard, Err: io.Discard}
	return command.NewApp(s, Commands(s))
}

// requestOf is what flags of deploy ask for; what is needed besides is added.
func requestOf(t *testing.T, args ...string) (r buy.Request) {
	t.Helper()
	app := newApp()
	arguments.Command(app.Commands, "deploy").Action = func(c *cli.Context) (err error) {
		set, err := command.Settings(c)
		if err != nil {
			return err
		}
		r, err = (&session{Session: &command.Session{CLI: c, Context: t.Context(), Gateway: set.Gateway.Text()}}).request()
		return err
	}
	line := strings.Join(args, " ")
	argv := append([]string{"gantry", "--state-dir=" + t.TempDir(), "deploy"}, args...)
	switch {
	case strings.HasPrefix(line, "--model"):
		argv = append(argv, "--minutes=1")
	case strings.HasPrefix(line, "--template"):
		argv = append(argv, "--set=model=x", "--minutes=1")
	case !strings.HasPrefix(line, "--gpu") && !strings.HasPrefix(line, "--minutes"):
		argv = append([]string{argv[0], argv[1], argv[2], "--gpu=A100", "--minutes=1"}, args...)
	case strings.HasPrefix(line, "--gpu"):
		argv = append(argv, "--minutes=1")
	default:
		argv = append(argv, "--gpu=A100")
	}
	if !strings.Contains(line, "--image") && !strings.Contains(line, "-- ") && !strings.Contains(line, "--restore") && !strings.Contains(line, "--template") && !strings.Contains(line, "--model") {
		argv = append(argv, "--", "true")
	}
	require.NoError(t, app.RunContext(t.Context(), argv), "%q", argv)
	return r
}

// property is a field in the document of the HTTP API.
type property struct {
	Type  string
	Items struct {
		Type string
		Ref  string `json:"$ref"`
	}
}

// propertiesOf are the fields of a schema of the HTTP API. That the document is the server's is tested beside it.
func propertiesOf(t *testing.T, schema string) map[string]property {
	raw, err := os.ReadFile(filepath.Join("..", "..", "serve", "testdata", "openapi.json"))
	require.NoError(t, err)
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]json.RawMessage }
		}
	}
	require.NoError(t, json.Unmarshal(raw, &doc))
	out := map[string]property{}
	for name, text := range doc.Components.Schemas[schema].Properties {
		var p property
		require.NoError(t, json.Unmarshal(text, &p), name)
		out[name] = p
	}
	return out
}

// onPage has the fields of an order that a person at the page can set: those with a control of their own, and those that the
// page reads from the API's document, which must be of a kind that it has a control for.
func onPage(t *testing.T) map[string]bool {
	source, request := orderForm(t)
	list := regexp.MustCompile(`(?s)const has = new Set\(\[(.*?)\]\);`).FindStringSubmatch(source)
	require.NotNil(t, list)
	out := map[string]bool{}
	for _, m := range regexp.MustCompile(`'(\w+)'`).FindAllStringSubmatch(list[1], -1) {
		out[m[1]] = true
	}
	require.Equal(t, filled(t, source, request), out, "the form fills in what it says that it has")
	for name, p := range propertiesOf(t, "OrderRequest") {
		switch {
		case out[name]:
		case p.Type == "boolean", p.Type == "integer", p.Type == "string":
			out[name] = true
		case p.Type == "array" && (p.Items.Type == "string" || strings.HasSuffix(p.Items.Ref, "/Port")):
			out[name] = true
		default:
			t.Errorf("web/static/views/more.js has no control for %s, which is %+v", name, p)
		}
	}
	return out
}

// orderForm is the source of the page's form, and of its function that makes an order of it.
func orderForm(t *testing.T) (source, request string) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "web", "static", "views", "request.js"))
	require.NoError(t, err)
	_, request, found := strings.Cut(string(raw), "\nexport function request(f, t, rest) {\n")
	require.True(t, found)
	request, _, found = strings.Cut(request, "\n}\n")
	require.True(t, found)
	return string(raw), request
}

// filled are the fields that statements of that function fill in, also those of the tables of controls that they name.
func filled(t *testing.T, source, statements string) map[string]bool {
	out := map[string]bool{}
	for _, table := range []string{"optional", "ofImages", "ticks"} {
		if !regexp.MustCompile(`\b` + table + `\b`).MatchString(statements) {
			continue
		}
		pairs := regexp.MustCompile(`\nconst ` + table + ` = \[(.*)\];\n`).FindStringSubmatch(source)
		require.NotNil(t, pairs, table)
		for _, m := range regexp.MustCompile(`\['\w+', '(\w+)'\]`).FindAllStringSubmatch(pairs[1], -1) {
			out[m[1]] = true
		}
	}
	for _, m := range regexp.MustCompile(`\br\.(\w+) = `).FindAllStringSubmatch(statements, -1) {
		out[m[1]] = true
	}
	literal := regexp.MustCompile(`const r = \{ (.*) \};`).FindStringSubmatch(statements)
	require.NotNil(t, literal)
	for _, part := range strings.Split(literal[1], ", ") {
		name, _, _ := strings.Cut(part, ":")
		out[name] = true
	}
	return out
}

// The server refuses a field that an order of a template does not have.
func TestThePageOrdersATemplateWithItsFieldsAlone(t *testing.T) {
	source, request := orderForm(t)
	before, _, found := strings.Cut(request, "\n  if (t) {\n")
	require.True(t, found)
	const others = " : [...optional, ...ofImages]" // what an order without a template takes
	require.Contains(t, before, others)
	before = strings.Replace(before, others, "", 1)
	takes := propertiesOf(t, "TemplateOrder")
	require.NotEmpty(t, takes)
	for name := range filled(t, source, before) {
		require.Contains(t, takes, name)
	}
}

// The clients of other languages pass on any field of an order, so that a new one needs no change in them.
func TestClientsPassOnEveryFieldOfAnOrder(t *testing.T) {
	for path, want := range map[string][]string{
		"clients/typescript/src/index.ts":        {"order?: Partial<OrderRequest>;", "...o.order,"},
		"clients/python/gantry/_async/client.py": {"order: Mapping[str, Any] | None = None"},
		"clients/python/gantry/common.py":        {"OrderRequest.from_dict({**request.to_dict(), **more})"},
	} {
		source, err := os.ReadFile(filepath.Join("..", "..", "..", path))
		require.NoError(t, err)
		for _, w := range want {
			require.Contains(t, string(source), w, path)
		}
	}
}

// deploySchema has the fields of the tool that buys.
func deploySchema(t *testing.T) map[string]bool {
	budget, err := mcp.OpenBudget(filepath.Join(t.TempDir(), "mcp.db"), solana.PublicKey{1}, market.OneUSDC)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, budget.Close()) })
	near, far := sdk.NewInMemoryTransports()
	server, err := mcp.New(mcp.Options{Budget: budget}).Connect(t.Context(), far, nil)
	require.NoError(t, err)
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, nil)
	require.NoError(t, err)
	defer func() {
		require.NoError(t, client.Close())
		_ = server.Wait()
	}()
	tools, err := client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, tool := range tools.Tools {
		if tool.Name == "deploy" {
			raw, err := json.Marshal(tool.InputSchema)
			require.NoError(t, err)
			var schema struct{ Properties map[string]any }
			require.NoError(t, json.Unmarshal(raw, &schema))
			return keysOf(schema.Properties)
		}
	}
	t.Fatal("no tool deploy")
	return nil
}

func keysOf(all map[string]any) map[string]bool {
	out := map[string]bool{}
	for key := range all {
		out[key] = true
	}
	return out
}

// A zero that is given is not the default: it is refused, as any other number that cannot be.
func TestZerosAreRefused(t *testing.T) {
	for flag, want := range map[string]string{
		"--count=0": "--count is 0", "--count=300": "--count is 300", "--nodes=0": "--nodes is 0", "--redundancy=0": "--redundancy is 0", "--redundancy=2": "--redundancy is 2",
		"--auction-secs=0": "--auction-secs is 0", "--seconds=0": "the time is 0 seconds", "--min-tier=4": "out of range", "--min-down=many": "--min-down",
	} {
		app := newApp()
		arguments.Command(app.Commands, "deploy").Action = func(c *cli.Context) error {
			_, err := (&session{Session: &command.Session{CLI: c, Context: t.Context()}}).request()
			return err
		}
		argv := []string{"gantry", "--state-dir=" + t.TempDir(), "deploy", "--gpu=A100", flag}
		if flag != "--seconds=0" {
			argv = append(argv, "--minutes=1")
		}
		err := app.RunContext(t.Context(), append(argv, "--", "true"))
		require.ErrorContains(t, err, want)
		require.Equal(t, service.CodeUsage, service.Classify(err).Code, flag)
	}
}

// A gateway without ports, and ports that no gateway can name, are refused before an order.
func TestPublicPortsAreCheckedBeforeAnOrder(t *testing.T) {
	for line, want := range map[string]string{
		"--via=" + aGateway + " --image=x":                          "no port is named",
		"--via=gw.example.org --image=x --port=80":                  "neither a key nor an address",
		"--via=" + aGateway + " --port=80":                          "--port is for containers",
		"--via=" + aGateway + " --image=x --port=80:Web":            "cannot be part of a host name",
		"--via=" + aGateway + " --image=x --port=80:a --port=81:a":  "two ports have the name",
		"--via=" + aGateway + " --image=x --port=80 --redundancy=3": "without visitors",
		"--image=x --port=80:70000":                                 "is not a port, or two",
		"--image=x --port=0":                                        "is not a port",
		"--image=x --port=80:Web --via=":                            "cannot be part of a host name",
	} {
		app := newApp()
		arguments.Command(app.Commands, "deploy").Action = func(c *cli.Context) error {
			_, err := (&session{Session: &command.Session{CLI: c, Context: t.Context()}}).request()
			return err
		}
		argv := append([]string{"gantry", "--state-dir=" + t.TempDir(), "deploy", "--gpu=A100", "--minutes=1"}, strings.Fields(line)...)
		err := app.RunContext(t.Context(), append(argv, "--", "true"))
		require.ErrorContains(t, err, want, line)
		require.Equal(t, service.CodeUsage, service.Classify(err).Code, line)
	}
}

// The environment's gateway makes named ports public, and asks for none.
func TestTheEnvironmentNamesAGateway(t *testing.T) {
	t.Setenv(contexts.VariableGateway, aGateway)
	r := requestOf(t, "--image=x")
	require.Empty(t, r.Gateway)
	r = requestOf(t, "--image=x", "--port=8888:notebook")
	require.Equal(t, aGateway, r.Gateway)
	require.Equal(t, []template.Port{{Name: "notebook", Port: 8888}}, r.Public)
	r = requestOf(t, "--image=x", "--port=8888:notebook", "--via=")
	require.Empty(t, r.Gateway)
	require.Empty(t, r.Public)
}

// A flag counts more than a context, and a context is used without one.
func TestAGatewayThatIsNamedIsNotTheContexts(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv(contexts.VariableGateway, aGateway)
	f, err := contexts.Load()
	require.NoError(t, err)
	require.NoError(t, f.Set("dev", contexts.Context{Gateway: "MangzNLJjAFjGTBGYJxNvYjEbWvLDsTdLFoVgWAbqJj"}))
	require.Equal(t, aGateway, requestOf(t, "--image=x", "--port=8888").Gateway)
	t.Setenv(contexts.VariableGateway, "")
	t.Setenv(contexts.VariableContext, "dev")
	require.Equal(t, aGateway, requestOf(t, "--image=x", "--port=8888", "--via="+aGateway).Gateway)
	require.Equal(t, f.Contexts["dev"].Gateway, requestOf(t, "--image=x", "--port=8888").Gateway)
}

// The ports of a file are public by the gateway that it names, or one that is found; flags count more.
func TestFlagsChooseTheGatewayOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "task.yaml")
	write := func(more string) {
		require.NoError(t, os.WriteFile(file, []byte("image: x\nports: [\"8888:notebook\"]\n"+more), 0o600))
	}
	public := []template.Port{{Name: "notebook", Port: 8888}}
	write("")
	for want, args := range map[string][]string{expose.Auto: nil, aGateway: {"--via=" + aGateway}} {
		r := requestOf(t, append([]string{"--file=" + file}, args...)...)
		require.Equal(t, want, r.Gateway, args)
		require.Equal(t, public, r.Public)
	}
	for _, args := range [][]string{{"--via=none"}, {"--via="}, {"--port=80:81"}, {"--port=80", "--via=none"}} {
		r := requestOf(t, append([]string{"--file=" + file}, args...)...)
		require.Empty(t, r.Gateway, args)
		require.Empty(t, r.Public, args)
	}
	require.Equal(t, []template.Port{{Name: "80", Port: 80}}, requestOf(t, "--file="+file, "--port=80").Public)
	write("gateway: " + aGateway)
	require.Equal(t, aGateway, requestOf(t, "--file="+file).Gateway)
	require.Equal(t, expose.Auto, requestOf(t, "--file="+file, "--via=auto").Gateway)
}

// A task's file asks for a measured guest as an order over HTTP does: with the policy as text. No key logs in to it.
func TestATaskMayAskForAGuest(t *testing.T) {
	d, err := attestation.ReadDocument("testdata/guest.json", "", nil)
	require.NoError(t, err)
	policy, err := d.Encode()
	require.NoError(t, err)
	raw, err := json.Marshal(map[string]any{"gpu": "A100", "seconds": 60, "image": "debian:12", "guest": true, "attest": string(policy)})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "task.yaml")
	require.NoError(t, os.WriteFile(file, raw, 0o600))
	r := requestOf(t, "--file="+file)
	require.True(t, r.Guest)
	require.Equal(t, string(policy), r.Attest)
	require.Empty(t, r.SSHKeys)
}

// Ports that a gateway makes public are not reached another way too; where it gives none, they are as without one.
func TestPortsAreReachedOneWay(t *testing.T) {
	lease := market.Lease{Meta: market.Meta{Address: solana.PublicKey{1}}}
	for via, want := range map[string][3]string{
		"":       {"gantry port " + lease.Address.String() + " 8888:9000", "", ""},
		aGateway: {"", "", "gantry port " + lease.Address.String() + " 8080\n"},
	} {
		var said strings.Builder
		f := &forwards{s: &session{Session: &command.Session{Err: &said}}, ports: []expose.Wanted{{Port: 8888, Here: "9000", Local: true}, {Port: 8080, Here: "8080", Name: "web"}}, detach: true, via: via}
		for i, e := range []buy.Event{buy.Running{Lease: lease}, buy.Exposed{Lease: lease}, buy.NotExposed{Lease: lease}} {
			said.Reset()
			if via == "" && i > 0 {
				break
			}
			f.event(e)
			require.Contains(t, said.String(), want[i])
			require.Equal(t, want[i] == "", said.Len() == 0, said.String())
		}
	}
}

// An empty entry point leaves the image's out, as docker's does.
func TestAnEmptyEntrypointIsTheCommands(t *testing.T) {
	r := requestOf(t, "--image=x", "--entrypoint=", "--", "sh", "-c", "true")
	require.Equal(t, "sh", r.Entrypoint)
	require.Equal(t, []string{"-c", "true"}, r.Command)
	for flag, want := range map[string]string{"--entrypoint=": "--entrypoint is empty", "--user=": "--user: write a name or a number", "--user=-1": `--user: the user "-1" cannot be`} {
		app := newApp()
		arguments.Command(app.Commands, "deploy").Action = func(c *cli.Context) error {
			_, err := (&session{Session: &command.Session{CLI: c, Context: t.Context()}}).request()
			return err
		}
		err := app.RunContext(t.Context(), []string{"gantry", "--state-dir=" + t.TempDir(), "deploy", "--gpu=A100", "--minutes=1", "--image=x", flag})
		require.ErrorContains(t, err, want)
		require.Equal(t, service.CodeUsage, service.Classify(err).Code, flag)
	}
}
